// The lines of the chart as a table: every value that m, d and what is watched take.
import type { JSX } from "preact";
import { last } from "../chart/geometry";
import { linesOf } from "../chart/lines";
import { t } from "../../strings";
import { number } from "../machine/tip";
import type { Seen } from "../seen";
import { useSession } from "../state";

/** Rows that are shown: the last ones up to the playhead. */
const MOST_ROWS = 64;

export function ChartTable({ seen }: { seen: Seen }): JSX.Element | null {
  const session = useSession();
  const { lane, watched, focus } = session.state;
  const curve = seen.curve(seen.block, lane);
  const lines = linesOf(seen, curve, watched);
  const changes = new Set(lines.flatMap((one) => one.points.map((point) => point.step)));
  const steps = [...changes].filter((step) => step <= seen.at).sort((a, b) => a - b);
  if (lines.length === 0) return null;
  return (
    <div class="table-band">
      <h3>{t.tables.chart}</h3>
      <div class="scroll" role="region" aria-label={t.tables.chart} tabIndex={0}>
        <table class="cells">
          <caption>
            {t.chart.thread(curve.thread)}, {t.tables.changes(steps.length, MOST_ROWS)}
          </caption>
          <thead>
            <tr>
              <th scope="col">{t.tables.step}</th>
              {lines.map(({ kind, name }) => (
                <th key={`${kind} ${name}`} scope="col">
                  {kind === "m" || kind === "d" ? `${kind}: ${name}` : name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.slice(-MOST_ROWS).map((step) => (
              <tr key={step}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    onClick={() => session.playback.jump(focus, step)}
                  >
                    {step + 1}
                  </button>
                </th>
                {lines.map(({ kind, name, points }) => (
                  <td key={`${kind} ${name}`}>{number(last(points, step)?.value)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
