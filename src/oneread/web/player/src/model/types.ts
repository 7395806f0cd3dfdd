/**
 * What the model hands to the views. Plain values: no view changes them.
 *
 * Words: a *step* is a statement that a warp executed, by its place among the recorded ones (0 is
 * the first; -1 is before it). Its *number* is its place among those of all blocks, which faults
 * and watches use. *Lanes* are masks of 32 bits. A *cell* is one number of a buffer; an element of
 * a struct has several.
 */

import type { Fault } from "../schema";

/** Units by which a player moves. `memory` is a load, a store or an atomic. */
export type Unit = "statement" | "memory" | "tile" | "barrier" | "pass";

export const UNITS: readonly Unit[] = ["statement", "memory", "tile", "barrier", "pass"];

/** A number of the machine; 64-bit integers that a double cannot hold are bigint. */
export type Value = number | bigint;

/** Where a warp is: its block, and its place in the block. */
export interface WarpId {
  readonly block: number;
  readonly warp: number;
}

export interface Step extends WarpId {
  /** Place among the recorded steps. */
  readonly index: number;
  /** Place among the steps of all blocks. */
  readonly number: number;
  readonly line: number;
  readonly column: number;
  /** Active lanes. */
  readonly lanes: number;
}

export type Space = "global" | "shared" | "local";

/** A buffer in global memory, an array of each block (shared) or of each thread (local). */
export interface Buffer {
  readonly index: number;
  readonly name: string;
  readonly space: Space;
  /** Numbers in it. */
  readonly cells: number;
  /** Types of the cells of an element: letters of Python's struct. */
  readonly types: readonly string[];
  /** Byte of each cell of an element, and bytes of an element, as C++ lays them out. */
  readonly offsets: readonly number[];
  readonly bytes: number;
  /** Cells of a row, 0 where the buffer has none. */
  readonly rowCells: number;
  readonly role: "" | "input" | "output" | "inout";
}

export interface Cell {
  /** undefined while nothing was stored there. */
  readonly value: Value | undefined;
  /** Step that stored it, -1 where it was there from the start or is unset. */
  readonly step: number;
}

/** Cells of a buffer at a moment, for drawing. */
export interface Cells {
  readonly first: number;
  readonly values: Float64Array;
  /** 1 where something was stored, or was there from the start. */
  readonly set: Uint8Array;
  /** Step of the last store, -1 for none. */
  readonly step: Int32Array;
}

/** A variable in the registers of a warp. */
export interface Register {
  readonly name: string;
  readonly type: string;
  /** One a lane; what stands in lanes outside of `set` has no meaning. */
  readonly values: readonly Value[];
  /** Lanes in which it has a value. */
  readonly set: number;
  /** Whether all set lanes hold the same. */
  readonly uniform: boolean;
  /** Step that changed it last. */
  readonly step: number;
}

/** Warps that stand at a barrier. */
export interface Waiting {
  /** That of the first. */
  readonly line: number;
  /** In order of arrival. */
  readonly warps: readonly number[];
  /** Where each of them stands: another line than the first one is a fault. */
  readonly lines: readonly number[];
  /** Whether the last one has just come: with the next step all go on. */
  readonly complete: boolean;
}

/** The machine after a step. Asking costs; moving does not. */
export interface State {
  readonly step: number;
  /** A cell; `block` for shared memory, `block` and `warp` for local memory. */
  cell(buffer: Buffer, cell: number, at?: Partial<WarpId>): Cell;
  cells(buffer: Buffer, first: number, count: number, at?: Partial<WarpId>): Cells;
  /** Variables of a warp that have a value, in the order in which they first got one. */
  registers(at: WarpId): readonly Register[];
  register(at: WarpId, name: string): Register | undefined;
  /** The last step of a warp, undefined before its first. */
  last(at: WarpId): Step | undefined;
  /** Warps of a block that stand at a barrier, undefined where none does. */
  waiting(block: number): Waiting | undefined;
  /** Loads (or stores) of each cell of a buffer in global memory so far. */
  touches(buffer: Buffer, kind: "load" | "store", first: number, count: number): Uint32Array;
  /** The same of loads, pass by pass: entry p - 1 is pass p. */
  readsByPass(buffer: Buffer, first: number, count: number): readonly Uint16Array[];
}

export type RequestKind = "load" | "store" | "atomic";

/** What one load, store or atomic of a warp asks of memory. */
export interface Request extends WarpId {
  readonly step: number;
  readonly line: number;
  readonly kind: RequestKind;
  readonly buffer: Buffer;
  /** Cells in the order of the lanes, those of one lane side by side. */
  readonly cells: readonly number[];
  /** What they hold afterwards, in the same order. */
  readonly values: readonly Value[];
  /** What they held before a store or an atomic; undefined where unset. Empty for a load. */
  readonly old: readonly (Value | undefined)[];
  /** How many lanes take part. */
  readonly laneCount: number;
  readonly lanes: number;
  /** Lane of each of `cells`; null where all lanes share them. */
  readonly laneOf: readonly number[] | null;
  /** Whether all lanes touch the same cells. */
  readonly together: boolean;
  /** Bytes that the lanes ask for, together. */
  readonly bytes: number;
  /** Global memory: sectors of 32 bytes, by their place in the buffer; else empty. */
  readonly sectors: readonly number[];
  /** Fewest sectors that could hold as much. */
  readonly idealSectors: number;
  /** Shared memory: how many times the banks are asked; else 0. */
  readonly wavefronts: number;
  readonly idealWavefronts: number;
  /** Banks of shared memory from which lanes want different words at once. */
  readonly conflicts: readonly { readonly bank: number; readonly words: readonly number[] }[];
  /** Cells in rows that are not of this block. */
  readonly strays: readonly number[];
  /** Pass of a load of global memory, 0 for anything else. */
  readonly pass: number;
  /** Faults that were first seen in this step and concern this buffer. */
  readonly faults: readonly Fault[];
}

/** Lanes that hand values to each other, as the text of the statement has it. */
export interface Exchange {
  /** For example `__shfl_xor_sync`. */
  readonly name: string;
  /** Lane from which each lane takes; null where the operands are no plain variables or numbers. */
  readonly sources: readonly number[] | null;
}

/** One sweep of a block over a buffer, as one warp makes it: its nth reading of the elements. */
export interface Pass extends WarpId {
  readonly buffer: Buffer;
  /** 1 for the first reading of an element by the block, and so on. */
  readonly number: number;
  /** First and last step. */
  readonly first: number;
  readonly last: number;
  /** Lines that load. */
  readonly lines: readonly number[];
  /** Elements that were loaded, each load counted. */
  readonly loads: number;
  /** Numbers that the warp stored to global memory meanwhile. */
  readonly stores: number;
  readonly tiles: readonly Tile[];
}

/** A round of a pass: from one load to the next. */
export interface Tile {
  /** From 0. */
  readonly number: number;
  readonly first: number;
  readonly last: number;
  /** Cells that are loaded: the lowest and the highest. */
  readonly low: number;
  readonly high: number;
}

