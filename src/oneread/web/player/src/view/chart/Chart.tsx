// m and d over the steps of a block, with a bead at each correction.
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Bead } from "../../model";
import { t } from "../../strings";
import { Formula, corrected, live, prime, short, v } from "../math";
import type { Curve } from "../curves";
import type { Seen } from "../seen";
import { useSession } from "../state";
import { useStore } from "../store";
import { type Box, type Scale, beadsIn, last, scaleOf, stairs } from "./geometry";

const LEFT = 5.2;
const RIGHT = 1.2;
const M_HEIGHT = 6.4;
const D_HEIGHT = 4;
const GAP = 1.5;
const TOP = 1.5;

export function Chart(): JSX.Element {
  const session = useSession();
  const seen = useStore(session.store, (state) => state.seen[state.focus] ?? null);
  const name = useStore(session.store, (state) => state.slots[state.focus]?.key ?? "");
  const block = useStore(session.store, (state) => state.seen[state.focus]?.block ?? 0);
  useStore(session.store, (state) => state.moves);
  const lane = useStore(session.store, (state) => state.lane);
  const curve = seen?.curve(block, lane);
  return (
    <section class="card chart" id="chart" aria-label={t.chart.title}>
      <header>
        <h2>{t.chart.title}</h2>
        <span class="soft">
          <span class="mono">{name}</span>
          {curve ? ` · ${t.chart.thread(curve.thread)}` : ""}
        </span>
      </header>
      {seen && curve && (curve.m || curve.d) ? (
        <Picture seen={seen} curve={curve} block={block} />
      ) : (
        <p class="empty soft">{t.chart.none}</p>
      )}
    </section>
  );
}

function Picture({ seen, curve, block }: { seen: Seen; curve: Curve; block: number }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [rem, setRem] = useState(16);
  useLayoutEffect(() => {
    const look = (): void => {
      setWidth(box.current?.clientWidth ?? 0);
      setRem(parseFloat(getComputedStyle(document.documentElement).fontSize));
    };
    look();
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const ends = seen.ends(block);
  const plot = useMemo((): Box => {
    const left = LEFT * rem;
    return { left, right: Math.max(left + 40, width - RIGHT * rem), first: ends[0], last: ends[1] };
  }, [width, rem, ends[0], ends[1]]);
  const height = (TOP + M_HEIGHT + GAP + D_HEIGHT + 0.5) * rem;
  const bead = last(curve.beads, seen.at);
  return (
    <>
      <div class="chart-box" ref={box} style={{ height: `${height}px` }}>
        {width > 0 ? (
          <svg width={width} height={height} role="group" aria-label={t.chart.picture}>
            <Lines curve={curve} plot={plot} rem={rem} />
            <Beads seen={seen} curve={curve} plot={plot} rem={rem} active={bead} />
            <Now seen={seen} curve={curve} plot={plot} rem={rem} height={height} />
          </svg>
        ) : null}
      </div>
      <Correction curve={curve} bead={bead} />
    </>
  );
}

interface Part {
  readonly curve: Curve;
  readonly plot: Box;
  readonly rem: number;
}

function scales({ curve, rem }: Pick<Part, "curve" | "rem">): { m: Scale; d: Scale } {
  return {
    m: scaleOf(curve.m?.points ?? [], (TOP + M_HEIGHT) * rem, TOP * rem),
    d: scaleOf(
      curve.d?.points ?? [],
      (TOP + M_HEIGHT + GAP + D_HEIGHT) * rem,
      (TOP + M_HEIGHT + GAP) * rem,
    ),
  };
}

/** What does not move with the playhead. */
function Lines({ curve, plot, rem }: Part): JSX.Element {
  return useMemo(() => {
    const { m, d } = scales({ curve, rem });
    return (
      <g aria-hidden="true">
        {[
          ["m", m, curve.m],
          ["d", d, curve.d],
        ].map((one) => {
          const [name, scale, line] = one as ["m" | "d", Scale, Curve["m"]];
          return line ? (
            <g key={name} class={`curve ${name}`}>
              <line
                class="base"
                x1={plot.left}
                x2={plot.right}
                y1={scale.bottom}
                y2={scale.bottom}
              />
              <text class="tick" x={plot.left - 8} y={scale.top + 4}>
                {short(scale.high)}
              </text>
              <text class="tick" x={plot.left - 8} y={scale.bottom}>
                {short(scale.low)}
              </text>
              <text class="name" x={rem * 0.9} y={(scale.top + scale.bottom) / 2 + 4}>
                {name}
              </text>
              <path class="line" d={stairs(line.points, plot, scale)} />
            </g>
          ) : null;
        })}
      </g>
    );
  }, [curve, plot, rem]);
}

function Beads({
  seen,
  curve,
  plot,
  rem,
  active,
}: Part & { seen: Seen; active: Bead | undefined }) {
  const session = useSession();
  const { m } = scales({ curve, rem });
  return (
    <g>
      {beadsIn(curve, plot, m, rem).map(({ bead, x, y, label }) => (
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
function Now({ seen, curve, plot, rem, height }: Part & { seen: Seen; height: number }) {
  const { m, d } = scales({ curve, rem });
  const part = (seen.at - plot.first) / Math.max(1, plot.last - plot.first);
  const x = plot.left + (plot.right - plot.left) * Math.max(0, Math.min(1, part));
  const dots = [
    ["m", m, curve.m],
    ["d", d, curve.d],
  ] as const;
  return (
    <g class="now" aria-hidden="true">
      <line x1={x} x2={x} y1={rem * 0.4} y2={height - rem * 0.4} />
      {dots.map(([name, scale, line]) => {
        const point = line && last(line.points, seen.at);
        if (!point || !Number.isFinite(point.value)) return null;
        const flip = x > plot.right - rem * 4;
        return (
          <g key={name} class={name}>
            <circle cx={x} cy={scale.y(point.value)} r={rem * 0.2} />
            <text
              x={x + (flip ? -rem * 0.5 : rem * 0.5)}
              y={scale.y(point.value) + rem * 0.95}
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

/** The correction in view, as a formula with the numbers of the run, and in a sentence. */
function Correction({ curve, bead }: { curve: Curve; bead: Bead | undefined }) {
  const { beads, d } = curve;
  if (beads.length === 0) return <p class="correction soft">{t.chart.noBeads}</p>;
  const before = bead && d ? last(d.points, bead.step - 1)?.value : undefined;
  const after = bead && d?.points.find((one) => one.step >= bead.step)?.value;
  const added =
    before !== undefined && after !== undefined && bead ? after - before * bead.value : undefined;
  return (
    <div class="correction">
      <p class="formula">
        <Formula>
          {corrected(
            prime("d"),
            v("d"),
            v("m"),
            prime("m"),
            <mtext>{t.chart.newTerms}</mtext>,
          )}
        </Formula>
        {bead && after !== undefined ? (
          <Formula>
            {corrected(
              live(after),
              live(before),
              live(bead.before ?? undefined),
              live(bead.after ?? undefined),
              live(added),
            )}
          </Formula>
        ) : null}
      </p>
      <p class="correction-text">{bead ? bead.sentence : t.chart.beforeBeads(beads.length)}</p>
    </div>
  );
}
