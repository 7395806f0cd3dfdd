// What each kernel asked for, counted, and how fast it was on a GPU.
import type { JSX } from "preact";
import { type Counted, type Difference, type Entry, type LedgerId, compare } from "../../model";
import { t } from "../../strings";
import type { Seen } from "../seen";
import { useSession } from "../state";
import { useStore } from "../store";
import { Explained, Measured } from "./Measured";

const COUNTED: readonly Counted[] = ["issued", "after_reuse", "dram_model"];

const BYTES: Record<Counted, LedgerId> = {
  issued: "issued_bytes",
  after_reuse: "after_reuse_bytes",
  dram_model: "dram_bytes",
};

export function Ledger(): JSX.Element {
  const session = useSession();
  const all = useStore(session.store, (state) => state.seen);
  const slots = useStore(session.store, (state) => state.slots);
  const counted = useStore(session.store, (state) => state.counted);
  const seen = all.flatMap((one, slot) =>
    one ? [{ one, slot, name: slots[slot]?.key ?? "" }] : [],
  );
  const differences = compare(seen.map(({ one }) => one.ledger)).filter(
    ({ id }) => !Object.values(BYTES).includes(id) || id === BYTES[counted],
  );
  const [first] = seen;
  return (
    <section class="card ledger" id="ledger" aria-label={t.ledger.title}>
      <header>
        <h2>{t.ledger.title}</h2>
        <fieldset class="choice">
          <legend class="unseen">{t.ledger.counted}</legend>
          {COUNTED.map((one) => (
            <label key={one} title={t.ledger.countedText[one]}>
              <input
                type="radio"
                name="counted"
                checked={one === counted}
                onChange={() => session.store.set({ counted: one })}
              />
              <span>{t.ledger.countedName[one](first?.one.ledger.cacheKb ?? 0)}</span>
            </label>
          ))}
        </fieldset>
      </header>
      {first ? (
        <div class="scroll" role="region" aria-label={t.ledger.table} tabIndex={0}>
          <table style={{ "--kernels": seen.length }}>
            <thead>
              <tr>
                <th scope="col">
                  <span class="unseen">{t.ledger.what}</span>
                </th>
                {seen.map(({ slot, name }) => (
                  <th key={slot} scope="col" class="mono">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {differences.map((one) => (
                <Row
                  key={`${one.id} ${one.entries.find(Boolean)?.buffer}`}
                  difference={one}
                  slots={seen.map(({ slot }) => slot)}
                />
              ))}
              <Measured seen={seen} />
            </tbody>
          </table>
        </div>
      ) : (
        <p class="empty soft">{t.machine.nothing}</p>
      )}
      <Explained seen={seen} />
      <p class="footnote soft">{t.ledger.countedText[counted]}</p>
    </section>
  );
}

function Row({ difference, slots }: { difference: Difference; slots: readonly number[] }) {
  const { id, entries, ratios } = difference;
  const buffer = entries.find((one) => one?.buffer)?.buffer;
  const most = Math.max(...entries.map((one) => one?.value ?? 0).filter(Number.isFinite), 0);
  return (
    <tr>
      <th scope="row" title={t.ledger.about[id]}>
        {t.ledger.rows[id]}
        {buffer ? <span class="soft"> {t.ledger.of(buffer)}</span> : null}
      </th>
      {entries.map((entry, index) => (
        <td key={slots[index]}>
          {entry ? (
            <Cell
              id={id}
              entry={entry}
              slot={slots[index] ?? 0}
              most={most}
              ratio={index ? ratios[index] : undefined}
            />
          ) : (
            <span class="soft">{t.ledger.absent}</span>
          )}
        </td>
      ))}
    </tr>
  );
}

interface CellProps {
  readonly id: LedgerId;
  readonly entry: Entry;
  readonly slot: number;
  readonly most: number;
  readonly ratio: number | undefined;
}

/** A number that opens the lines that cause it. */
function Cell({ id, entry, slot, most, ratio }: CellProps): JSX.Element {
  const session = useSession();
  const text = t.ledger.value(id, entry);
  const bad = (id === "wrong" && entry.value > 0) || (id === "error" && !(entry.value < 1e-3));
  const bar = t.ledger.barred.has(id) && most > 0;
  return (
    <div class={`count${bad ? " bad" : ""}`}>
      <div class="numbers">
        {entry.lines.length > 0 ? (
          <button
            type="button"
            class="link"
            title={t.ledger.lines(entry.lines)}
            onClick={() => openLines(session.state.seen[slot] ?? null, slot, entry.lines)}
          >
            {text}
          </button>
        ) : (
          <span>{text}</span>
        )}
        {ratio !== undefined && t.ledger.compared(id, ratio) ? (
          <span class="ratio">{t.ledger.ratio(ratio)}</span>
        ) : null}
      </div>
      {bar ? <i class={`meter ${id}`} style={{ width: `${(100 * entry.value) / most}%` }} /> : null}
    </div>
  );

  function openLines(seen: Seen | null, at: number, lines: readonly number[]): void {
    if (!seen) return;
    session.store.set({ side: "code", focus: at, paired: lines });
  }
}
