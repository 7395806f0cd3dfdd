// What the gutter shows of each line, and what is said at its end.
import type { Fault, Value } from "../../model";
import { t } from "../../strings";
import type { LineFacts } from "../editor/gutters";
import type { Remark, Running } from "../editor/marks";
import { number } from "../machine/tip";
import { brief } from "../machine/cells";
import type { Seen } from "../seen";
import type { Refused } from "../state";

const ORDER = ["note", "warning", "error"] as const;

/** Return what a run counted at each line. */
export function factsOf(seen: Seen): Map<number, LineFacts> {
  const { counts, faults } = seen.recording.run;
  const global = new Map<number, number>();
  const shared = new Map<number, number>();
  for (const { line, space, sectors, requests } of counts.lines) {
    if (space === "global") add(global, line, sectors * 32);
    else add(shared, line, requests);
  }
  const worst = new Map<number, Fault["severity"]>();
  for (const { line, with_line, severity } of faults) {
    for (const one of [line, with_line]) {
      if (one === null) continue;
      const known = worst.get(one);
      if (!known || ORDER.indexOf(severity) > ORDER.indexOf(known)) worst.set(one, severity);
    }
  }
  const most = (all: Map<number, number>): number => Math.max(1, ...all.values());
  const lines = new Set([...global.keys(), ...shared.keys(), ...worst.keys()]);
  return new Map(
    [...lines].map((line) => {
      const [bytes, requests] = [global.get(line) ?? 0, shared.get(line) ?? 0];
      const fault = worst.get(line) ?? null;
      const title = t.code.lineFacts(bytes, requests, fault);
      return [
        line,
        { global: bytes / most(global), shared: requests / most(shared), fault, title },
      ];
    }),
  );
}

function add(all: Map<number, number>, key: number, value: number): void {
  all.set(key, (all.get(key) ?? 0) + value);
}

/** Return what is said of the line that runs; the values are those of one lane. */
export function runningOf(seen: Seen, lane: number, text: string): Running | null {
  const { step, recording } = seen;
  if (!step) return null;
  const line = text.split("\n")[step.line - 1] ?? "";
  const state = recording.state(seen.at);
  const registers = state.registers({ block: step.block, warp: step.warp });
  const values = registers
    .filter(
      ({ name, set, type }) =>
        (set >>> lane) & 1 && !type.includes("*") && new RegExp(`\\b${name}\\b`).test(line),
    )
    .slice(0, 3)
    .map(({ name, values }) => `${name} = ${said(values[values.length === 1 ? 0 : lane])}`)
    .join("  ");
  const threads = recording.run.launch.block.reduce((a, b) => a * b, 1);
  const lanes = Math.min(32, threads);
  return {
    line: step.line,
    mask: step.lanes,
    lanes,
    values,
    title: t.code.lanes(step.lanes, lane),
  };
}

function said(value: Value | undefined): string {
  if (value === undefined) return t.tip.unset;
  return Number.isFinite(Number(value)) ? brief(value) : number(value);
}

/** Return remarks for what was refused, in the kernel of a slot. */
export function remarksOf(refused: Refused | null, slot: number): Remark[] {
  return (refused?.diagnostics ?? [])
    .filter((one) => one.source === slot)
    .map(({ line, column, end_column, severity, message, hint }) => ({
      line,
      column,
      end: end_column ?? column + 1,
      severity,
      text: hint ? `${message}; ${hint}` : message,
    }));
}
