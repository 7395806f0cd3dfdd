// What is wrong with the kernel in focus: in plain words, with its proof and its repair.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Catalogue } from "../../engine";
import { type Fault, faultText } from "../../model";
import { t } from "../../strings";
import { Icon } from "../Icons";
import { Stale } from "../Stale";
import { useSession } from "../state";
import { useStore } from "../store";
import { Diff } from "./Diff";
import { Probe } from "./Probe";

const NO_ORDERS: readonly string[] = [];
const NO_MESSAGES: Catalogue["messages"] = {};
const ICONS = { error: "error", warning: "warning", note: "note" } as const;

export function Findings(): JSX.Element {
  const session = useSession();
  const { store } = session;
  const slot = useStore(store, (state) => state.focus);
  const seen = useStore(store, (state) => state.seen[state.focus] ?? null);
  const name = useStore(store, (state) => state.slots[state.focus]?.key ?? "");
  const running = useStore(store, (state) => state.running);
  const schedule = useStore(store, (state) => state.launch.schedule);
  const schedules = useStore(store, (state) => state.catalogue?.schedules ?? NO_ORDERS);
  const stale = useStore(store, (state) => state.stale);
  const repair = useStore(store, (state) => state.repair);
  const faults = seen?.recording.run.faults ?? [];
  const loud = faults.filter((one) => one.severity !== "note");
  const quiet = faults.filter((one) => one.severity === "note");
  const mendable = faults.some((one) => one.repair !== null);
  const { live } = session.engine;
  return (
    <section class="card findings" id="findings" aria-label={t.findings.title}>
      <header>
        <h2>{t.findings.title}</h2>
        <Stale />
        <span class="soft mono">{name}</span>
      </header>
      {live && seen ? (
        <div class="actions">
          <button
            type="button"
            class={`button small${mendable ? " first" : ""}`}
            disabled={!mendable || running || stale}
            onClick={() => void session.mending.mend(slot)}
          >
            <Icon name="mend" /> {t.findings.fix}
          </button>
          <button
            type="button"
            class="button small"
            disabled={running}
            title={t.findings.orderTitle}
            onClick={() => session.setLaunch({ schedule: nextOf(schedules, schedule) })}
          >
            <Icon name="shuffle" /> {t.findings.order(nextOf(schedules, schedule))}
          </button>
          <button
            type="button"
            class="button small"
            disabled={running || stale}
            onClick={() => void session.mending.probe(slot)}
          >
            <Icon name="eye" /> {t.findings.probe}
          </button>
        </div>
      ) : null}
      {repair && repair.slot === slot ? <Diff repair={repair} /> : null}
      <Probe slot={slot} />
      {stale ? <p class="stale-note">{t.findings.stale}</p> : null}
      {seen && !stale && loud.length === 0 ? (
        <p class="empty good">
          <Icon name="check" /> {t.findings.clean(schedule, seen.recording.run.result.length > 0)}
        </p>
      ) : null}
      <ul class={stale ? "faults stale" : "faults"}>
        {loud.map((fault) => (
          <Item key={keyOf(fault)} fault={fault} slot={slot} />
        ))}
      </ul>
      {quiet.length > 0 ? (
        <details class="quiet">
          <summary>{t.findings.notes(quiet.length)}</summary>
          <ul class="faults">
            {quiet.map((fault) => (
              <Item key={keyOf(fault)} fault={fault} slot={slot} />
            ))}
          </ul>
        </details>
      ) : null}
    </section>
  );
}

export function keyOf(fault: Fault): string {
  return `${fault.id} ${fault.line} ${fault.column} ${fault.with_line} ${fault.buffer}`;
}

/** The next order of warps, round at the end. */
function nextOf(schedules: readonly string[], now: string): string {
  const plain = (text: string): string => text.split(":")[0] ?? text;
  const at = schedules.findIndex((one) => plain(one) === plain(now));
  return plain(schedules[(at + 1) % Math.max(1, schedules.length)] ?? now);
}

/** Scroll the list, never the page, so that a finding is seen. */
function reveal(row: HTMLElement): void {
  const box = row.closest(".findings");
  if (!box || box.scrollHeight <= box.clientHeight) return;
  const head = box.firstElementChild?.clientHeight ?? 0;
  const { top, bottom } = row.getBoundingClientRect();
  const edges = box.getBoundingClientRect();
  const above = top - edges.top - head;
  const below = bottom - edges.bottom;
  if (above < 0 || below > 0) box.scrollTop += above < 0 ? above : Math.min(below, above);
}

function Item({ fault, slot }: { fault: Fault; slot: number }): JSX.Element {
  const session = useSession();
  const messages = useStore(session.store, (state) => state.catalogue?.messages ?? NO_MESSAGES);
  const shown = useStore(session.store, (state) => state.shown?.fault === fault);
  const stale = useStore(session.store, (state) => state.stale);
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (shown && row.current) reveal(row.current);
  }, [shown]);
  const recorded = session.state.seen[slot]?.recording.blocks.includes(fault.block) ?? false;
  const lines = [...new Set([fault.with_line, fault.line])].filter((one) => one !== null);
  return (
    <li class={`fault ${fault.severity}${shown ? " shown" : ""}`} ref={row}>
      <p class="fault-title">
        <Icon name={ICONS[fault.severity]} />
        <b>{messages[fault.id]?.title ?? fault.id}</b>
        <span class="soft">
          {t.findings.lines(lines)}
          {fault.count > 1 ? ` · ${t.findings.times(fault.count)}` : ""}
        </span>
      </p>
      <p class="fault-text">{faultText(fault, messages)}</p>
      <button
        type="button"
        class="button small"
        disabled={!recorded || stale}
        aria-label={`${t.findings.show}: ${messages[fault.id]?.title ?? fault.id}`}
        onClick={() => session.show(slot, fault)}
      >
        <Icon name="eye" /> {t.findings.show}
      </button>
    </li>
  );
}
