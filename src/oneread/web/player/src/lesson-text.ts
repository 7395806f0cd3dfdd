// The words of the lesson: why one pass less is enough, and why not two.
import type { LessonId, RequestKind } from "./model";
import { short } from "./view/math";

type Values = Readonly<Record<string, number>>;

const n = (value: number | undefined): string => (value === undefined ? "·" : short(value));

interface Told {
  readonly title: string;
  readonly text: (values: Values) => string;
}

const steps: Record<LessonId, Told> = {
  subtract: {
    title: "Why m is subtracted",
    text: (v) =>
      `Softmax is a ratio, so a constant may be taken from every x. Without it, exp(x) leaves float32 near ${n(v["limit"])}: a logit of 100 gives ${n(v["beyond"])}. With the maximum of this row, ${n(v["maximum"])}, no power is above 0 and no term above 1.`,
  },
  definition: {
    title: "d, against the maximum so far",
    text: (v) =>
      v["terms"] === undefined
        ? "After j elements, m is their maximum and d the sum of their exponentials against that m. No d of this kernel is that sum."
        : `After ${n(v["terms"])} elements, m is ${n(v["maximum"])} and d by definition is ${n(v["sum"])}.${v["kernel_sum"] === undefined ? "" : ` The kernel has ${n(v["kernel_sum"])}.`}`,
  },
  split: {
    title: "Split off what is new, rewrite the rest",
    text: (v) =>
      v["before"] === undefined
        ? "In this row the first element is the maximum, so nothing is rewritten."
        : `m rises from ${n(v["before"])} to ${n(v["after"])}. Every old term has the same factor too much, so one product mends the sum: ${n(v["old_sum"])} times ${n(v["factor"])} is ${n(v["rescaled"])}. No old x is read again.`,
  },
  stays: {
    title: "Where the maximum stays, the factor is 1",
    text: (v) =>
      v["maximum"] === undefined
        ? "If no new x is above m, then m − m′ is 0 and its exponential 1. Multiplying is never wrong, only at times needless."
        : `Here m stays ${n(v["maximum"])}, the factor is ${n(v["factor"])}, and d is right as it is. Multiplying is never wrong, only at times needless.`,
  },
  tiles: {
    title: "The same, a tile at a time",
    text: (v) =>
      v["tile"] === undefined
        ? "A tile has a maximum and a sum of its own. One factor moves all that came before, another one the tile."
        : `Tile ${n(v["tile"])} brings ${n(v["size"])} elements. One factor, ${n(v["factor"])}, for all that came before; ${n(v["tile_sum"])} from the tile itself; together ${n(v["new_sum"])}. Parts merge in any order, which is why lanes and warps can share a row.`,
  },
  early: {
    title: "A pass for d cannot start before the pass for m has ended",
    text: (v) =>
      `The maximum of this row, ${n(v["maximum"])}, stands at column ${n(v["column"])} of ${n(v["columns"])}; what came before reached ${n(v["before"])}. A kernel that fixes m first has to see the last element before it adds the first term: a read of the whole row. Correcting d along the way saves it.`,
  },
  fused: {
    title: "The pass that writes y cannot be saved as well",
    text: (v) =>
      `y needs the final d. From the first ${n(v["part"])} elements alone, the first y would be ${n(v["too_early"])}; it is ${n(v["right"])}. So x is read twice and y written once: 3 accesses an element instead of 4. Only where y itself is not wanted, as in top-k, is one read enough.`,
  },
};

export const lessonText = {
  title: "Why two passes do what three did",
  intro: (kernel: string) => `The numbers are those of ${kernel}, row by row as it ran.`,
  none: "This kernel reads no row whose softmax could be told step by step.",
  go: "Go there",
  goTo: (title: string) => `Go there: ${title}`,
  general: "in general",
  here: "here",
  steps,
  passes: {
    title: "What each pass does",
    pass: (number: number) => `Pass ${number}`,
    before: "Before the first pass",
    reads: "Reads",
    writes: "Writes",
    shared: "In SRAM",
    nothing: "nothing",
    barriers: (barriers: number) => (barriers === 1 ? "1 barrier" : `${barriers} barriers`),
    kinds: { load: "read", store: "written", atomic: "updated" } satisfies Record<
      RequestKind,
      string
    >,
    moved: (elements: number, buffer: string, kind: string, line: number, requests: number) =>
      `${elements} of ${buffer} ${kind} in line ${line}, ${requests} ${requests === 1 ? "request" : "requests"}`,
  },
};
