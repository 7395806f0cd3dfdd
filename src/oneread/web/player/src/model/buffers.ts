/** Buffers of a launch: how their cells lie in bytes, and which rows are whose. */

import type { Launch, Run } from "../schema";
import type { Buffer } from "./types";

const SIZES: Readonly<Record<string, number>> = {
  "?": 1, b: 1, B: 1, h: 2, H: 2, i: 4, I: 4, f: 4, q: 8, Q: 8, d: 8,
};

/** Return the bytes of a cell. */
export function cellBytes(buffer: Buffer, cell: number): number {
  return SIZES[buffer.types[cell % buffer.types.length]!]!;
}

/** Return the byte of a buffer at which a cell begins. */
export function byteOf(buffer: Buffer, cell: number): number {
  const place = cell % buffer.types.length;
  return ((cell - place) / buffer.types.length) * buffer.bytes + buffer.offsets[place]!;
}

export function buffersOf(run: Run): Buffer[] {
  return run.buffers.map((one, index) => ({
    index,
    name: one.name,
    space: one.space,
    cells: one.elements * one.types.length,
    types: one.types,
    ...laidOut(one.types),
    rowCells: one.row_cells,
    role: one.role,
  }));
}

/**
 * Lay out an element as C++ does without `__align__`: the file has types and no offsets. An
 * alignment beyond that would spread elements; their sectors would be a few more.
 */
function laidOut(types: readonly string[]): { offsets: number[]; bytes: number } {
  let end = 0;
  const offsets = types.map((type) => {
    const start = aligned(end, SIZES[type]!);
    end = start + SIZES[type]!;
    return start;
  });
  return { offsets, bytes: aligned(end, Math.max(...types.map((type) => SIZES[type]!))) };
}

function aligned(byte: number, size: number): number {
  return Math.ceil(byte / size) * size;
}

/** Return whether a block may touch a row, whichever way blocks are dealt to rows. */
export function ownsRow(launch: Launch, block: number, row: number): boolean {
  const { rows } = launch;
  const blocks = launch.grid.reduce((product, extent) => product * extent, 1);
  if (rows === 0 || (blocks > rows && blocks % rows !== 0)) return true;
  if (blocks >= rows) return row === Math.floor(block / (blocks / rows)) || row === block % rows;
  const each = Math.ceil(rows / blocks);
  return Math.floor(row / each) === block || (row < rows && row % blocks === block);
}
