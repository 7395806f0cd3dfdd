// Beside what was counted: what was measured on a GPU, from the results in the package.
import type { JSX } from "preact";
import type { Measured as Measurement } from "../../engine";
import { t } from "../../strings";
import type { Seen } from "../seen";
import { useSession } from "../state";

export interface Column {
  readonly one: Seen;
  readonly slot: number;
  readonly name: string;
}

export function Measured({ seen }: { seen: readonly Column[] }): JSX.Element | null {
  const { shape, found } = useMeasured(seen);
  if (shape === null) return null;
  const best = Math.max(...found.map((one) => one?.gb_per_s ?? 0));
  return (
    <>
      <tr class="measured">
        <th scope="row">
          {t.ledger.measured}
          <span class="soft">{t.ledger.measuredOn(shape)}</span>
        </th>
        {found.map((one, index) => (
          <td key={index}>
            {one ? (
              <div class="count">
                <div class="numbers">
                  <span>{t.ledger.speed(one.gb_per_s)}</span>
                  <span class="ratio">{t.ledger.time(one.us)}</span>
                </div>
                <i class="meter speed" style={{ width: `${(100 * one.gb_per_s) / best}%` }} />
              </div>
            ) : (
              <span class="soft">{t.ledger.unmeasured}</span>
            )}
          </td>
        ))}
      </tr>
    </>
  );
}

/** Where fewer accesses took longer, say what was paid for them. */
export function Explained({ seen }: { seen: readonly Column[] }): JSX.Element | null {
  const { found } = useMeasured(seen);
  const reasons = seen.flatMap((less, index) =>
    seen.flatMap((more, other) => {
      const [a, b] = [found[index], found[other]];
      const fewer =
        less.one.recording.run.counts.issued_bytes < more.one.recording.run.counts.issued_bytes;
      if (!a || !b || !fewer || a.us < 1.03 * b.us) return [];
      const { barriers, shared_requests } = less.one.recording.run.counts;
      const theirs = more.one.recording.run.counts;
      return t.ledger.slower(less.name, more.name, a.us / b.us, {
        barriers: barriers / Math.max(1, theirs.barriers),
        shared: shared_requests / Math.max(1, theirs.shared_requests),
      });
    }),
  );
  if (reasons.length === 0) return null;
  return (
    <div class="explained">
      {reasons.map((one) => (
        <p key={one}>{one}</p>
      ))}
    </div>
  );
}

function keyOf({ device, rows, vocab }: Measurement): string {
  return `${device} ${rows} ${vocab}`;
}

/** The largest shape that most of the kernels were measured at. */
function commonShape(measured: readonly (readonly Measurement[])[]): Measurement | null {
  const counts = new Map<string, { one: Measurement; times: number }>();
  for (const one of measured.flat()) {
    const known = counts.get(keyOf(one));
    counts.set(keyOf(one), { one, times: (known?.times ?? 0) + 1 });
  }
  const size = ({ one }: { one: Measurement }): number => one.rows * one.vocab;
  const [best] = [...counts.values()].sort((a, b) => b.times - a.times || size(b) - size(a));
  return best?.one ?? null;
}

interface Found {
  /** The shape that the kernels are compared at, null where none was measured. */
  readonly shape: Measurement | null;
  readonly found: readonly (Measurement | undefined)[];
}

/** Return what was measured of the kernels at one shape. A changed kernel was never measured. */
function useMeasured(seen: readonly Column[]): Found {
  const session = useSession();
  const measured = seen.map(({ name, slot }) => {
    const kernel = session.kernels.find(name);
    return kernel && session.state.slots[slot]?.text === kernel.text ? kernel.measured : [];
  });
  const shape = commonShape(measured);
  const found = measured.map((all) => all.find((one) => shape && keyOf(one) === keyOf(shape)));
  return { shape, found };
}
