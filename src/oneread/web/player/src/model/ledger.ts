/** The numbers of a run for a table, each with the lines that cause it. */

import type { Counts, Run } from "../schema";
import type { Counted, Difference, Entry, Ledger, LedgerId } from "./answers";
import { numberOf } from "./numbers";

type LineCounts = Counts["lines"][number];

/** Return the counts of a run, of all its blocks. */
export function ledger(run: Run): Ledger {
  const { counts, result } = run;
  const outer = linesWhere(counts, (one) => one.space === "global");
  const { read_bytes, written_bytes, cache_kb } = counts.dram_model;
  const known = result.length > 0;
  const entries: Entry[] = [
    ...counts.buffers.flatMap((one) => ofBuffer(run, one)),
    { id: "issued_bytes", value: counts.issued_bytes, lines: outer },
    { id: "after_reuse_bytes", value: counts.after_reuse_bytes, lines: outer },
    { id: "dram_bytes", value: read_bytes + written_bytes, lines: outer },
    {
      id: "sectors",
      value: counts.sectors,
      ideal: counts.ideal_sectors,
      lines: linesWhere(counts, (one) => one.sectors > 0),
    },
    {
      id: "shared_requests",
      value: counts.shared_requests,
      lines: linesWhere(counts, (one) => one.space === "shared"),
    },
    {
      id: "conflicts",
      value: counts.lines.reduce((sum, one) => sum + one.wavefronts - one.ideal_wavefronts, 0),
      lines: linesWhere(counts, (one) => one.wavefronts > one.ideal_wavefronts),
    },
    {
      id: "barriers",
      value: counts.barriers,
      lines: Object.keys(counts.barrier_lines).map(Number),
    },
    { id: "exps", value: counts.lane_exps, lines: [] },
  ];
  if (known) {
    const errors = result.map((one) => numberOf(one.max_abs));
    const lines = linesWhere(counts, (one) =>
      one.kind !== "read" && result.some(({ buffer }) => buffer === one.buffer),
    );
    entries.push(
      { id: "error", value: Math.max(...errors), lines },
      { id: "wrong", value: result.reduce((sum, one) => sum + one.wrong, 0), lines },
    );
  }
  return { name: run.name, entries, cacheKb: cache_kb, results: result };
}

/** Return passes over a buffer, and reads and writes an element of it. */
function ofBuffer(run: Run, one: Counts["buffers"][number]): Entry[] {
  const { counts } = run;
  const buffer = one.name;
  const described = run.buffers.find(({ name, space }) => name === buffer && space === "global");
  const cells = one.elements * (described?.types.length ?? 1);
  const whole = counts.passes.filter((pass) => pass.buffer === buffer && pass.elements >= cells);
  const found: Entry[] = [];
  if (whole.length > 0) {
    const lines = [...new Set(whole.map(({ line }) => line))];
    found.push({ id: "passes", buffer, value: whole.length, lines });
  }
  for (const [id, spread] of [["reads", one.loads], ["writes", one.stores]] as const) {
    if (spread.max === 0) continue;
    const kind = id === "reads" ? "read" : "write";
    const lines = linesWhere(
      counts,
      (line) =>
        line.buffer === buffer &&
        line.space === "global" &&
        (line.kind === kind || line.kind === "atomic"),
    );
    found.push({ id, buffer, value: spread.mean, low: spread.min, high: spread.max, lines });
  }
  return found;
}

function linesWhere(counts: Counts, wanted: (one: LineCounts) => boolean): number[] {
  return [...new Set(counts.lines.filter(wanted).map(({ line }) => line))];
}

/** Return the bytes of a ledger that are meant. */
export function bytesOf(found: Ledger, counted: Counted): number {
  const ids: Record<Counted, LedgerId> = {
    issued: "issued_bytes",
    after_reuse: "after_reuse_bytes",
    dram_model: "dram_bytes",
  };
  return found.entries.find(({ id }) => id === ids[counted])!.value;
}

/** Return ledgers number by number, each against the first. */
export function compare(ledgers: readonly Ledger[]): Difference[] {
  const keys = new Map<string, Entry>();
  for (const { entries } of ledgers) {
    for (const entry of entries) keys.set(keyOf(entry), keys.get(keyOf(entry)) ?? entry);
  }
  return [...keys].map(([key, { id, buffer }]) => {
    const entries = ledgers.map((one) => one.entries.find((entry) => keyOf(entry) === key));
    const base = entries[0]?.value;
    return {
      id,
      ...(buffer === undefined ? {} : { buffer }),
      entries,
      ratios: entries.map((entry) =>
        entry === undefined || base === undefined || base === 0 ? undefined : entry.value / base,
      ),
    };
  });
}

function keyOf({ id, buffer }: Entry): string {
  return `${id} ${buffer ?? ""}`;
}
