/**
 * The model of the player: what a trace file says, step by step. No DOM, no drawing, no network.
 *
 * ```ts
 * const [recording] = decode(trace);
 * const player = new Player(recording);
 * player.forward();                          // to the next memory operation
 * const state = recording.state(player.at);  // buffers, registers, who waits
 * requests(recording, player.at);            // what this step asks of memory
 * sentence(recording, player.at);            // the same in words
 * ```
 */

import type { Fault, Run, Trace } from "../schema";
import type {
  Buffer, Counted, Difference, Exchange, Ledger, LessonStep, Link, Pass, PassList, Request, Series,
  State, Step, Unit, WarpId,
} from "./types";

export type * from "./types";
export type {
  Counts, Fault, Judgement, Launch, Num, Run, Severity, Trace, Watch,
} from "../schema";

/** Return the recordings of a trace, one a launch; a run without events has no steps. */
export declare function decode(trace: Trace): Recording[];

/** A launch as it was recorded. Reading from it at any step costs the same. */
export declare class Recording {
  /** The launch as the file has it: source, launch, counts, faults, result. */
  readonly run: Run;
  /** How many steps there are. */
  readonly length: number;
  /** Blocks whose steps are here, and the limit for which others are not. */
  readonly blocks: readonly number[];
  readonly reduced: "recorded" | "file_bytes" | null;
  /** Warps of a block. */
  readonly warps: number;
  readonly buffers: readonly Buffer[];
  /** Names of the variables in registers, in order of first use. */
  readonly variables: readonly string[];
  step(index: number): Step;
  /** The step with this number; the last one before it where that was not recorded. */
  indexOf(number: number): number;
  /** Steps of a line, in order. */
  hits(line: number): Int32Array;
  /** The machine after a step; -1 is before the first. */
  state(index: number): State;
  /** Bytes of global memory that were asked for up to a step, this one included. */
  bytes(index: number): number;
  /** Every warp that has steps. */
  allWarps(): readonly WarpId[];
  /** Faults with a step that was recorded, in order of steps. */
  readonly findings: readonly { readonly fault: Fault; readonly step: number }[];
}

/** A playhead. Every move costs the same, wherever it goes. */
export declare class Player {
  constructor(recording: Recording);
  readonly recording: Recording;
  /** The step that has just been made, -1 before the first. */
  readonly at: number;
  /** What a move without an argument moves by. */
  unit: Unit;
  /** A warp whose steps alone are looked at; null for all. */
  follow: WarpId | null;
  /** Go to the next, or the previous, place of a unit; false where there is none. */
  forward(unit?: Unit): boolean;
  back(unit?: Unit): boolean;
  /** Go to a step; those beyond the ends become the first or the last. */
  jump(step: number): void;
  /** Go to the next, or the previous, execution of a line; false where there is none. */
  nextHit(line: number): boolean;
  previousHit(line: number): boolean;
  /** Go to the nth execution of a line, from 1; the last one where there are fewer. */
  hit(line: number, nth: number): boolean;
  nextFinding(): Fault | undefined;
  previousFinding(): Fault | undefined;
  /** The line here, and which of its executions this is, from 1. */
  place(): { line: number; hit: number } | undefined;
}

/** Return what a step asks of memory, in order. */
export declare function requests(recording: Recording, step: number): Request[];
/** Return the shuffle, vote or reduction of lanes in a step, if its statement has one. */
export declare function exchange(recording: Recording, step: number): Exchange | undefined;
/** Return a step in one plain sentence. */
export declare function sentence(recording: Recording, step: number): string;
/** Return a fault in words, from the catalogue's texts. */
export declare function faultText(
  fault: Fault, messages: Readonly<Record<string, { readonly text: string }>>,
): string;
/** Return m, d, the factor and what was watched; of one block, or of all. */
export declare function series(recording: Recording, block?: number): Series;
/** Return the passes over buffers of global memory, in order of their first steps. */
export declare function passes(recording: Recording): readonly Pass[];
export declare function ledger(run: Run): Ledger;
/** Return ledgers number by number, against the first. */
export declare function compare(ledgers: readonly Ledger[]): Difference[];
/** Return the bytes of a ledger that are meant. */
export declare function bytesOf(ledger: Ledger, counted: Counted): number;
/** Return where each recording is when it has moved so many bytes: its last step up to there. */
export declare function level(recordings: readonly Recording[], bytes: number): number[];
/** Return a link as the part of an address behind `#`. */
export declare function encodeLink(link: Link): Promise<string>;
/** Return what such a part says, null where it is none. */
export declare function decodeLink(hash: string): Promise<Link | null>;
/** Return the steps of the argument with the numbers of one row. */
export declare function lesson(recording: Recording, block?: number): LessonStep[];
/** Return what each pass of a block reads, writes and does in shared memory. */
export declare function passLists(recording: Recording, block?: number): PassList[];
