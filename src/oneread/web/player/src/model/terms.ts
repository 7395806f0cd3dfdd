/**
 * Which elements a d is the sum over.
 *
 * A kernel may keep one d a lane, a warp or a block; the recording does not say. So the sum is
 * taken by definition over what the lane, the warp or the block has read in this pass, and the one
 * that gives d is meant. Where none or several do, nothing is claimed.
 */

import type { Point } from "./answers";
import { lanesOf, near } from "./numbers";
import { mainBuffer, passNumbers } from "./passes";
import type { Recording } from "./recording";
import { sharingOf } from "./sharing";

/** How far a sum in float32 may be from the same in double. */
export const ROUNDING = 1e-4;

/** A d by definition. */
export interface Terms {
  /** Cells of the main buffer. */
  readonly cells: readonly number[];
  /** Their maximum, against which they are summed. */
  readonly maximum: number;
  readonly sum: number;
}

/** Return what a value of d is the sum over, null where that cannot be told. */
export function termsOf(recording: Recording, d: Point): Terms | null {
  const found = readBy(recording, d)
    .filter((cells) => cells.length > 0)
    .map((cells) => summed(recording, cells))
    .filter(({ sum }) => near(sum, d.value, ROUNDING));
  const sizes = new Set(found.map(({ cells }) => cells.length));
  return sizes.size === 1 ? found[0]! : null;
}

/** Return the sum over cells by definition, in double. */
export function summed(recording: Recording, cells: readonly number[]): Terms {
  const values = cells.map((cell) => inputAt(recording, cell));
  const maximum = values.reduce((most, value) => (value > most ? value : most), -Infinity);
  const sum = values.reduce((total, value) => total + Math.exp(value - maximum), 0);
  return { cells, maximum, sum };
}

/** Return what the main buffer held at first. */
export function inputAt(recording: Recording, cell: number): number {
  const main = mainBuffer(recording);
  const before = main === undefined ? undefined : recording.machine.before(main);
  return before?.[cell] ?? NaN;
}

/** Return what the lane, the warp and the block of a point have read in the pass that it is in. */
function readBy(recording: Recording, at: Point): number[][] {
  const { columns } = recording;
  const { ofEvent } = recording.once(passNumbers);
  const main = mainBuffer(recording);
  const ours: { event: number; pass: number; warp: number }[] = [];
  for (let event = 0; event < columns.end[at.step]!; event++) {
    const step = columns.step[event]!;
    if (columns.block[step] !== at.block || ofEvent[event] === 0) continue;
    if (recording.bufferOf(event) !== main) continue;
    ours.push({ event, pass: ofEvent[event]!, warp: columns.warp[step]! });
  }
  const pass = ours.findLast((one) => one.warp === at.warp)?.pass;
  const here = ours.filter((one) => one.pass === pass);
  const lane = new Set<number>();
  const warp = new Set<number>();
  const block = new Set<number>();
  let sure = true;
  for (const one of here) {
    const cells = recording.cellsOf(one.event);
    for (const cell of cells) block.add(cell);
    if (one.warp !== at.warp) continue;
    for (const cell of cells) warp.add(cell);
    const { lanes, per, together } = sharingOf(recording, one.event);
    sure &&= !together;
    const place = lanesOf(lanes).indexOf(at.lane);
    if (place >= 0) for (const cell of cells.slice(place * per, (place + 1) * per)) lane.add(cell);
  }
  return [sure ? [...lane] : [], [...warp], [...block]];
}
