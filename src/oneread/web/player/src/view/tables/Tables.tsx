// The machine as tables: what the canvases show, to read, to copy and to hear. They follow the
// playhead when it rests.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { type Buffer, type Request, requests } from "../../model";
import { t } from "../../strings";
import { Icon } from "../Icons";
import { number } from "../machine/tip";
import type { Seen } from "../seen";
import { useSession } from "../state";
import { useStore } from "../store";
import { ChartTable } from "./ChartTable";

/** Cells of a row of a table: a sector of 32 bytes, where cells are floats. */
const ACROSS = 8;
const MOST_CELLS = 1024;

export function Tables(): JSX.Element {
  const session = useSession();
  const { store } = session;
  const open = useStore(store, (state) => state.tables);
  const seen = useStore(store, (state) => state.seen[state.focus] ?? null);
  const name = useStore(store, (state) => state.slots[state.focus]?.key ?? "");
  const playing = useStore(store, (state) => state.playing);
  const moves = useStore(store, (state) => state.moves);
  const kept = useRef<JSX.Element | null>(null);
  const of = useRef("");
  const chosen = useStore(store, (state) => `${state.lane} ${state.watched.join()}`);
  const key = `${moves} ${name} ${chosen}`;
  if (open && seen && !playing && of.current !== key) {
    kept.current = <All seen={seen} />;
    of.current = key;
  }
  return (
    <section class="tables" aria-label={t.tables.title}>
      <button
        type="button"
        class="button small bare"
        aria-expanded={open}
        aria-controls="tables"
        onClick={() => {
          of.current = "";
          store.set({ tables: !open });
        }}
      >
        <Icon name="table" /> {open ? t.tables.hide : t.tables.show}
      </button>
      {open ? (
        <div id="tables" class="card">
          <p class="soft">{t.tables.of(name)}</p>
          {seen ? kept.current : <p class="soft">{t.machine.nothing}</p>}
        </div>
      ) : null}
    </section>
  );
}

function All({ seen }: { seen: Seen }): JSX.Element {
  const { recording, at } = seen;
  const asked = at < 0 ? [] : requests(recording, at);
  const spaces = [
    ["global", "hbm"],
    ["shared", "sram"],
  ] as const;
  return (
    <>
      {spaces.map(([space, band]) => (
        <div key={space} class={`table-band ${band}`}>
          <h3>{t.bands[band].name}</h3>
          {recording.buffers
            .filter((one) => one.space === space)
            .map((buffer) => (
              <BufferTable
                key={buffer.index}
                seen={seen}
                buffer={buffer}
                asked={asked.filter((one) => one.buffer.index === buffer.index)}
              />
            ))}
        </div>
      ))}
      <div class="table-band register">
        <h3>{t.bands.register.name}</h3>
        <Registers seen={seen} />
      </div>
      <ChartTable seen={seen} />
    </>
  );
}

interface BufferProps {
  readonly seen: Seen;
  readonly buffer: Buffer;
  readonly asked: readonly Request[];
}

function BufferTable({ seen, buffer, asked }: BufferProps): JSX.Element {
  const { recording, at, block } = seen;
  const length = buffer.rowCells || buffer.cells;
  const first = buffer.rowCells ? Math.min(block * length, Math.max(0, buffer.cells - length)) : 0;
  const count = Math.min(length, buffer.cells, MOST_CELLS);
  const cells = recording.state(at).cells(buffer, first, count, { block });
  const kinds = new Map(
    asked.flatMap(({ cells, kind }) => cells.map((cell) => [cell, kind] as const)),
  );
  const lines = Array.from({ length: Math.ceil(count / ACROSS) }, (_, line) => line * ACROSS);
  return (
    <div class="scroll" role="region" aria-label={buffer.name} tabIndex={0}>
      <table class="cells">
        <caption>
          <span class="mono">{buffer.name}</span> {t.tables.cells(first, count, buffer.cells)}
        </caption>
        <thead>
          <tr>
            <th scope="col">{t.tables.index}</th>
            {Array.from({ length: Math.min(ACROSS, count) }, (_, column) => (
              <th key={column} scope="col">
                +{column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line}>
              <th scope="row">{first + line}</th>
              {Array.from({ length: Math.min(ACROSS, count - line) }, (_, column) => {
                const kind = kinds.get(first + line + column);
                const value = cells.set[line + column]
                  ? number(cells.values[line + column])
                  : t.tip.unset;
                return (
                  <td key={column} class={kind ? "touched" : ""}>
                    {value}
                    {kind ? <span class="unseen"> {t.tables.kinds[kind]}</span> : null}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Registers({ seen }: { seen: Seen }): JSX.Element {
  const { recording, at, step, block } = seen;
  const warp = step?.warp ?? 0;
  // Addresses say nothing to a reader.
  const all = recording
    .state(at)
    .registers({ block, warp })
    .filter((one) => !one.type.includes("*"));
  return (
    <div class="scroll" role="region" aria-label={t.bands.register.name} tabIndex={0}>
      <table class="cells">
        <caption>{t.tables.warp(warp, block)}</caption>
        <thead>
          <tr>
            <th scope="col">{t.tables.lane}</th>
            {Array.from({ length: 32 }, (_, lane) => (
              <th key={lane} scope="col">
                {lane}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <tr key={one.name}>
              <th scope="row" class="mono">
                {one.name}
              </th>
              {Array.from({ length: 32 }, (_, lane) => (
                <td key={lane} class={((step?.lanes ?? 0) >>> lane) & 1 ? "" : "dim"}>
                  {(one.set >>> lane) & 1
                    ? number(one.values[one.values.length === 1 ? 0 : lane])
                    : t.tip.unset}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
