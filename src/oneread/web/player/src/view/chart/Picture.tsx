// The lines of the chart over the steps of a block, with a bead at each correction.
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Bead } from "../../model";
import { t } from "../../strings";
import type { Curve } from "../curves";
import { short } from "../math";
import type { Seen } from "../seen";
import { useSession } from "../state";
import { stretches } from "../stretches";
import { type Box, type Line, type Plot, beadsIn, last, plotsOf, stairs, xOf } from "./geometry";

const LEFT = 5.2;
const RIGHT = 1.2;

interface PictureProps {
  readonly seen: Seen;
  readonly curve: Curve;
  readonly lines: readonly Line[];
  readonly bead: Bead | undefined;
}

export function Picture({ seen, curve, lines, bead }: PictureProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [rem, setRem] = useState(16);
  useLayoutEffect(() => {
    const look = (): void => {
      setWidth(host.current?.clientWidth ?? 0);
      setRem(parseFloat(getComputedStyle(document.documentElement).fontSize));
    };
    look();
    const observer = new ResizeObserver(look);
    if (host.current) observer.observe(host.current);
    return () => observer.disconnect();
  }, []);
  const [first, end] = seen.ends(curve.thread.block);
  const box = useMemo((): Box => {
    const left = LEFT * rem;
    return { left, right: Math.max(left + 40, width - RIGHT * rem), first, last: end };
  }, [width, rem, first, end]);
  const { plots, height } = useMemo(() => plotsOf(lines, rem), [lines, rem]);
  const part = { seen, curve, plots, box, rem };
  return (
    <div class="chart-box" ref={host} style={{ height: `${height}px` }}>
      {width > 0 ? (
        <svg width={width} height={height} role="group" aria-label={t.chart.picture}>
          <Passes {...part} height={height} />
          <Lines {...part} />
          <Beads {...part} active={bead} />
          <Now {...part} height={height} />
        </svg>
      ) : null}
    </div>
  );
}

interface Part {
  readonly seen: Seen;
  readonly curve: Curve;
  readonly plots: readonly Plot[];
  readonly box: Box;
  readonly rem: number;
}

/** The passes of the block, behind everything, named below. */
function Passes({ seen, curve, box, rem, height }: Part & { height: number }): JSX.Element {
  const { block } = curve.thread;
  return useMemo(() => {
    const own = stretches(seen.recording).filter((one) => one.block === block);
    const y = height - 1.4 * rem;
    return (
      <g class="passes" aria-hidden="true">
        {own.map(({ number, first, last: end }) => {
          const [left, right] = [xOf(first, box), xOf(end, box)];
          const text = right - left > 3.2 * rem ? t.deck.passOf(number) : String(number);
          return (
            <g key={number} class={number % 2 ? "odd" : "even"}>
              <rect x={left} y={0} width={Math.max(1, right - left)} height={height - 0.3 * rem} />
              {right - left > 0.9 * rem ? (
                <text x={left + 0.35 * rem} y={y + 0.8 * rem}>
                  {text}
                </text>
              ) : null}
            </g>
          );
        })}
      </g>
    );
  }, [seen, block, box, rem, height]);
}

/** What does not move with the playhead. */
function Lines({ plots, box, rem }: Part): JSX.Element {
  return useMemo(
    () => (
      <g aria-hidden="true">
        {plots.map(({ kind, name, points, scale }) => {
          const letter = kind === "m" || kind === "d";
          return (
            <g key={`${kind} ${name}`} class={`curve ${kind}`}>
              <line class="base" x1={box.left} x2={box.right} y1={scale.bottom} y2={scale.bottom} />
              <text class="tick" x={box.left - 8} y={scale.top + 4}>
                {short(scale.high)}
              </text>
              <text class="tick" x={box.left - 8} y={scale.bottom}>
                {short(scale.low)}
              </text>
              {letter ? (
                <text class="name" x={rem} y={(scale.top + scale.bottom) / 2 + 4}>
                  {kind}
                </text>
              ) : null}
              {letter && name === kind ? null : (
                <text
                  class="variable"
                  x={rem}
                  y={letter ? (scale.top + scale.bottom) / 2 + 1.2 * rem : scale.top - 0.6 * rem}
                >
                  {letter ? clipped(name) : name}
                </text>
              )}
              <path class="line" d={stairs(points, box, scale)} />
            </g>
          );
        })}
      </g>
    ),
    [plots, box, rem],
  );
}

/** What fits beside the ticks; the table of the ledger and the code have the whole name. */
function clipped(name: string): string {
  return name.length > 7 ? `${name.slice(0, 6)}…` : name;
}

function Beads({ seen, curve, plots, box, rem, active }: Part & { active: Bead | undefined }) {
  const session = useSession();
  const scale = plots.find(({ kind }) => kind === "m")?.scale;
  const placed = useMemo(
    () => (scale ? beadsIn(curve, box, scale, rem) : []),
    [curve, box, scale, rem],
  );
  return (
    <g>
      {placed.map(({ bead, x, y, label }) => (
        <g
          key={bead.step}
          class={`bead${bead === active ? " active" : ""}${bead.step > seen.at ? " ahead" : ""}`}
          role="button"
          tabindex={0}
          aria-label={t.chart.bead(short(bead.value))}
          onClick={() => session.playback.jump(session.state.focus, bead.step)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            session.playback.jump(session.state.focus, bead.step);
            event.stopPropagation();
          }}
        >
          <title>{bead.label}</title>
          <circle cx={x} cy={y} r={rem * 0.34} />
          {label || bead === active ? (
            <text x={x} y={y - rem * 0.65}>
              × {short(bead.value)}
            </text>
          ) : null}
        </g>
      ))}
    </g>
  );
}

/** The playhead, and the values there. */
function Now({ seen, plots, box, rem, height }: Part & { height: number }) {
  const x = Math.max(box.left, Math.min(box.right, xOf(seen.at, box)));
  return (
    <g class="now" aria-hidden="true">
      <line x1={x} x2={x} y1={rem * 0.4} y2={height - rem * 0.3} />
      {plots.map(({ kind, name, points, scale }) => {
        const point = last(points, seen.at);
        if (!point || !Number.isFinite(point.value)) return null;
        const flip = x > box.right - rem * 4;
        const y = scale.y(point.value);
        return (
          <g key={`${kind} ${name}`} class={kind}>
            <circle cx={x} cy={y} r={rem * 0.2} />
            <text
              x={x + (flip ? -rem * 0.5 : rem * 0.5)}
              y={y > scale.top + rem ? y - rem * 0.4 : y + rem * 0.95}
              text-anchor={flip ? "end" : "start"}
            >
              {short(point.value)}
            </text>
          </g>
        );
      })}
    </g>
  );
}
