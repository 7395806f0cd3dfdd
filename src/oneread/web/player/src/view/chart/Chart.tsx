// m, d and what a person watches besides, over the steps of a block; and the correction in view.
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { Bead } from "../../model";
import { t } from "../../strings";
import type { Curve } from "../curves";
import { useMoves } from "../follow";
import { Formula, corrected, live, prime, v } from "../math";
import type { Seen } from "../seen";
import { Stale } from "../Stale";
import { useSession } from "../state";
import { useStore } from "../store";
import { Picture } from "./Picture";
import { Watch } from "./Watch";
import { type Line, last } from "./geometry";
import { linesOf } from "./lines";

export function Chart(): JSX.Element {
  const session = useSession();
  const region = useRef<HTMLElement>(null);
  const seen = useStore(session.store, (state) => state.seen[state.focus] ?? null);
  const name = useStore(session.store, (state) => state.slots[state.focus]?.key ?? "");
  const block = useStore(session.store, (state) => state.seen[state.focus]?.block ?? 0);
  useMoves(region);
  const lane = useStore(session.store, (state) => state.lane);
  const watched = useStore(session.store, (state) => state.watched);
  const curve = seen?.curve(block, lane);
  const lines = useMemo(
    () => (seen && curve ? linesOf(seen, curve, watched) : []),
    [seen, curve, watched],
  );
  return (
    <section ref={region} class="card chart" id="chart" aria-label={t.chart.title}>
      <header>
        <h2>{t.chart.title}</h2>
        <Stale />
        <span class="soft">
          <span class="mono">{name}</span>
          {curve ? ` · ${t.chart.thread(curve.thread)}` : ""}
        </span>
      </header>
      {seen ? <Watch seen={seen} /> : null}
      {seen && curve && lines.length > 0 ? (
        <Whole seen={seen} curve={curve} lines={lines} />
      ) : (
        <p class="empty soft">{t.chart.none}</p>
      )}
    </section>
  );
}

function Whole({ seen, curve, lines }: { seen: Seen; curve: Curve; lines: readonly Line[] }) {
  const bead = last(curve.beads, seen.at);
  return (
    <>
      <Picture seen={seen} curve={curve} lines={lines} bead={bead} />
      {curve.d ? <Correction curve={curve} bead={bead} /> : null}
    </>
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
