// The words of the ledger.
import type { Counted, Entry, LedgerId } from "./model";
import { about, count, size } from "./numbers";

interface Paid {
  readonly barriers: number;
  readonly shared: number;
}

export const ledgerText = {
  title: "Ledger",
  table: "Counts of each kernel",
  what: "What is counted",
  counted: "Which bytes",
  absent: "–",
  countedName: {
    issued: () => "asked for",
    after_reuse: () => "after reuse",
    dram_model: (kb: number) => `DRAM, ${about(kb)} kB cache`,
  } satisfies Record<Counted, (kb: number) => string>,
  countedText: {
    issued: "Asked for: every load and store of global memory that the source has. Exact.",
    after_reuse:
      "After reuse: without loads that a lane repeats while a compiler may keep the value in a register.",
    dram_model:
      "DRAM: what passes between DRAM and a cache of this size. A model: a row that fits is fetched once.",
  } satisfies Record<Counted, string>,
  rows: {
    passes: "Passes",
    reads: "Reads an element",
    writes: "Writes an element",
    issued_bytes: "Global bytes",
    after_reuse_bytes: "Global bytes",
    dram_bytes: "DRAM bytes",
    sectors: "Sectors (least possible)",
    shared_requests: "Shared requests",
    conflicts: "Bank conflicts",
    barriers: "Barriers",
    exps: "Exponentials",
    error: "Error against float64",
    wrong: "Wrong elements",
  } satisfies Record<LedgerId, string>,
  about: {
    passes: "Sweeps over all elements, by loads of the source",
    reads: "How often an element is loaded",
    writes: "How often an element is stored",
    issued_bytes: "Bytes that lanes ask of global memory",
    after_reuse_bytes: "The same without what a compiler may keep in a register",
    dram_bytes: "Bytes between DRAM and the cache, as a model has it",
    sectors: "Pieces of 32 bytes that requests touch; in brackets the fewest that could hold as much",
    shared_requests: "Loads and stores of shared memory, one for each warp",
    conflicts: "Turns of the 32 banks beyond the fewest that would do",
    barriers: "How often blocks meet at a barrier",
    exps: "Exponentials of all lanes",
    error: "Largest distance from the softmax of the same input in float64",
    wrong: "Elements further from it than rounding explains",
  } satisfies Record<LedgerId, string>,
  of: (buffer: string) => `of ${buffer}`,
  barred: new Set<LedgerId>([
    "issued_bytes",
    "after_reuse_bytes",
    "dram_bytes",
    "sectors",
    "shared_requests",
    "barriers",
    "exps",
  ]),
  value: (id: LedgerId, { value, low, high, ideal }: Entry) => {
    if (id.endsWith("_bytes")) return size(value);
    if (id === "error")
      return Number.isFinite(value)
        ? value === 0
          ? "0"
          : value.toExponential(1).replace("-", "−")
        : "NaN";
    if ((id === "reads" || id === "writes") && low !== undefined && high !== undefined) {
      return low === high ? String(low) : `${low} to ${high}`;
    }
    return id === "sectors" && ideal !== undefined
      ? `${count(value)} (${count(ideal)})`
      : about(value);
  },
  /** Whether a ratio says something. */
  compared: (id: LedgerId, ratio: number) =>
    id !== "error" && id !== "wrong" && Number.isFinite(ratio) && Math.abs(ratio - 1) > 0.02,
  ratio: (ratio: number) => `${ratio >= 10 ? Math.round(ratio) : Number(ratio.toPrecision(2))} ×`,
  lines: (lines: readonly number[]) =>
    lines.length === 1 ? `Show line ${lines[0]}` : `Show lines ${lines.join(", ")}`,
  measured: "Measured",
  measuredOn: ({
    device,
    date,
    rows,
    vocab,
  }: {
    device: string;
    date: string;
    rows: number;
    vocab: number;
  }) => `${device}, ${count(rows)} × ${count(vocab)}, ${date.slice(0, 10)}`,
  unmeasured: "not measured",
  speed: (gb: number) => `${count(Math.round(gb))} GB/s`,
  time: (us: number) => (us >= 1000 ? `${about(us / 1000)} ms` : `${about(us)} µs`),
  slower: (less: string, more: string, times: number, paid: Paid) => {
    const costs = [
      paid.barriers > 1.2 ? `${about(paid.barriers)} times the barriers` : "",
      paid.shared > 1.2 ? `${about(paid.shared)} times the requests of shared memory` : "",
    ].filter(Boolean);
    const why =
      costs.length > 0 ? `It pays ${costs.join(" and ")}` : "Its steps depend on one another";
    return `Fewer accesses, and yet ${about(times)} times as long: ${less} asks for fewer bytes than ${more}. ${why}, and the caches of a GPU hide a good part of the pass that it saves.`;
  },
};
