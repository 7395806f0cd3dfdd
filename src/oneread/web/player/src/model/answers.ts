/**
 * What the model finds out about a recording as a whole: m and d over time, ledgers, the lesson;
 * and what a link says.
 */

import type { Judgement } from "../schema";
import type { Buffer, RequestKind, WarpId } from "./types";

/** A value that m, d or something watched took. */
export interface Point extends WarpId {
  readonly step: number;
  readonly lane: number;
  readonly value: number;
}

/** A correction: what was summed against an old maximum is multiplied once. */
export interface Bead extends Point {
  /** Maxima before and after; null where the recording does not show them. */
  readonly before: number | null;
  readonly after: number | null;
  /** For example `x exp(7.07 - 9.31) = 0.106`. */
  readonly label: string;
  readonly sentence: string;
  /** Whether the maximum stayed, so that nothing changes. */
  readonly idle: boolean;
}

export interface Line<P extends Point = Point> {
  /** The variable, or the expression that is watched. */
  readonly name: string;
  readonly line: number;
  readonly points: readonly P[];
}

/** m, d and the factor over time. */
export interface Series {
  readonly m: readonly Line[];
  readonly d: readonly Line[];
  readonly factor: readonly Line<Bead>[];
  readonly user: readonly Line[];
}

/** Which of the three counts of bytes is meant. */
export type Counted = "issued" | "after_reuse" | "dram_model";

/** A number of the ledger, and the lines of the source that cause it. */
export interface Entry {
  readonly id: LedgerId;
  /** Of which buffer, for passes, reads and writes. */
  readonly buffer?: string;
  readonly value: number;
  /** Fewest and most, for numbers an element. */
  readonly low?: number;
  readonly high?: number;
  /** The least that would do, where there is one. */
  readonly ideal?: number;
  readonly lines: readonly number[];
}

export type LedgerId =
  | "passes"
  | "reads"
  | "writes"
  | "issued_bytes"
  | "after_reuse_bytes"
  | "dram_bytes"
  | "sectors"
  | "shared_requests"
  | "conflicts"
  | "barriers"
  | "exps"
  | "error"
  | "wrong";

/** The counts of a run, ready to be shown; of all blocks, whichever were recorded. */
export interface Ledger {
  readonly name: string;
  readonly entries: readonly Entry[];
  readonly cacheKb: number;
  readonly results: readonly Judgement[];
}

/** A number of several kernels beside each other. */
export interface Difference {
  readonly id: LedgerId;
  readonly buffer?: string;
  /** undefined where a kernel has no such number. */
  readonly entries: readonly (Entry | undefined)[];
  /** Of each one against the first, as a ratio; undefined where that has no meaning. */
  readonly ratios: readonly (number | undefined)[];
}

/** What a link says. Everything but the kernels may be left out. */
export interface Link {
  readonly kernels: readonly LinkedKernel[];
  readonly launch: Readonly<Record<string, string>>;
  /** Which kernel the place is in, a line of it, and which of its executions, from 1. */
  readonly place?: { readonly kernel: number; readonly line: number; readonly hit: number };
  readonly view?: string;
}

export interface LinkedKernel {
  readonly key: string;
  /** The source, where it was edited. */
  readonly text?: string;
}

/** The seven steps of the argument. */
export type LessonId =
  | "subtract"
  | "definition"
  | "split"
  | "stays"
  | "tiles"
  | "early"
  | "fused";

/** A step of the argument, with the numbers of this run. */
export interface LessonStep {
  readonly id: LessonId;
  /** Step of the recording that it talks about; null where this kernel does nothing like it. */
  readonly step: number | null;
  /** Numbers by the names that the text of the step uses. */
  readonly values: Readonly<Record<string, number>>;
}

/** What a pass does to one buffer, from one line. */
export interface Operation {
  readonly line: number;
  readonly buffer: Buffer;
  readonly kind: RequestKind;
  readonly requests: number;
  /** Numbers moved. */
  readonly elements: number;
  readonly bytes: number;
  readonly sectors: number;
  readonly wavefronts: number;
}

/** What happens in a pass: reads and writes of global memory, operations on shared memory. */
export interface PassList {
  /** Of the passes over the buffer of which most is read; 0 is before the first. */
  readonly number: number;
  readonly reads: readonly Operation[];
  readonly writes: readonly Operation[];
  readonly shared: readonly Operation[];
  /** Barriers that blocks passed meanwhile, all blocks together. */
  readonly barriers: number;
}
