// What a probe found: every fault once, whatever number of its launches show it.
import type { Fault } from "../../model";
import type { Launch } from "../state";

export interface Probed {
  readonly fault: Fault;
  readonly command: string;
  /** The launch, as the server names its parts. */
  readonly launch: Readonly<Record<string, unknown>>;
}

/** What makes two faults the same one: the kind, and the lines; of a wrong result, whether NaN. */
function keyOf({ id, line, with_line, parameters }: Fault): string {
  if (id === "wrong-result") return `${id} ${String(parameters["got"]) === "nan"}`;
  return [id, ...[line, with_line ?? line].sort((one, other) => one - other)].join(" ");
}

function sizeOf({ launch }: Probed): number {
  return Number(launch["rows"]) * Number(launch["vocab"]);
}

/** Return each fault once, with the smallest of the launches that show it. */
export function distinct(all: readonly Probed[]): Probed[] {
  const found = new Map<string, Probed>();
  for (const one of all) {
    const known = found.get(keyOf(one.fault));
    if (known === undefined || sizeOf(one) < sizeOf(known)) found.set(keyOf(one.fault), one);
  }
  return [...found.values()];
}

/** Whether a run shows a fault, too. */
export function isAmong(fault: Fault, faults: readonly Fault[]): boolean {
  return faults.some((one) => keyOf(one) === keyOf(fault));
}

/** Return the launch of a probe as it would be typed. */
export function typed(launch: Probed["launch"]): Partial<Launch> {
  const plain = (value: unknown): string =>
    Array.isArray(value) ? value.join(",") : value === null ? "" : String(value);
  const { defines, rows, vocab, k, grid, block, input, schedule } = launch;
  const pairs = Object.entries((defines ?? {}) as Record<string, unknown>);
  return {
    rows: plain(rows),
    vocab: plain(vocab),
    k: plain(k),
    grid: plain(grid),
    block: plain(block),
    input: plain(input),
    schedule: plain(schedule),
    defines: pairs.map(([name, value]) => `${name}=${plain(value)}`).join(" "),
    numbers: "",
  };
}
