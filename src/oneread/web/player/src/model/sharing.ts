/**
 * Which lanes took part in a load, store or atomic.
 *
 * The recording has the cells of an event, in the order of lanes, and the active lanes of its
 * step. Mostly that is enough: as many cells as lanes, or a fixed number a lane, or one element
 * for all. Where a condition within the statement (`?:`, `&&`) left lanes out, how many took part
 * is known and which ones is not.
 */

import { cellBytes } from "./buffers";
import { popcount } from "./numbers";
import type { Recording } from "./recording";

export interface Sharing {
  /** Whether all lanes touch the same cells. */
  readonly together: boolean;
  readonly laneCount: number;
  /** null where the recording does not say. */
  readonly lanes: number | null;
  /** Cells of each lane. */
  readonly per: number;
  /** Bytes of each lane, and of all together. */
  readonly laneBytes: number;
  readonly bytes: number;
}

/** Cells that one access of a lane can have: those of vectors and small structs. */
const VECTORS = [2, 3, 4, 8, 16];

export function sharingOf(recording: Recording, event: number, mask: number): Sharing {
  const { columns } = recording;
  const buffer = recording.bufferOf(event);
  const count = columns.count[event]!;
  const active = popcount(mask);
  const parts = buffer.types.length;
  const first = recording.firstCell(event);
  const side = columns.stride[event] === 1;

  const answer = (per: number, laneCount: number, sure: boolean, together = false): Sharing => {
    let laneBytes = 0;
    for (let cell = first; cell < first + per; cell++) laneBytes += cellBytes(buffer, cell);
    const lanes = sure ? mask : null;
    return { together, laneCount, lanes, per, laneBytes, bytes: laneBytes * laneCount };
  };

  // All lanes at one element, a scalar or a whole struct; or one lane that a condition left.
  const oneElement = count === parts && (parts === 1 || (side && first % parts === 0));
  if (oneElement && active > 1) {
    const alone = recording.once(apart).has(keyOf(recording, event));
    return alone ? answer(parts, 1, false) : answer(parts, active, true, true);
  }
  if (count === active) return answer(1, active, true);
  if (count > active && count % active === 0) return answer(count / active, active, true);
  if (count < active) {
    const per = side && count % parts === 0 ? parts : 1;
    return answer(per, count / per, false);
  }
  const per = VECTORS.find((one) => count % one === 0 && count / one <= active);
  return per === undefined ? answer(1, count, false) : answer(per, count / per, false);
}

/** Return the statements in which each lane goes to a place of its own. */
function apart(recording: Recording): Set<string> {
  const { columns, run } = recording;
  const found = new Set<string>();
  for (let event = 0; event < columns.events; event++) {
    const operation = recording.operation(event);
    if (operation !== "load" && operation !== "store" && operation !== "atomic") continue;
    const buffer = recording.bufferOf(event);
    if (columns.count[event] !== buffer.types.length) found.add(keyOf(recording, event));
  }
  // Where every request moves one element, no lanes share one.
  const kinds = { read: "load", write: "store", atomic: "atomic" };
  for (const { line, buffer, space, kind, requests, elements } of run.counts.lines) {
    const named = recording.buffers.find((one) => one.name === buffer && one.space === space);
    if (named === undefined || elements !== requests * named.types.length) continue;
    found.add(`${line} ${named.index} ${kinds[kind]}`);
  }
  return found;
}

function keyOf(recording: Recording, event: number): string {
  const { line, step } = recording.columns;
  const buffer = recording.bufferOf(event).index;
  return `${line[step[event]!]} ${buffer} ${recording.operation(event)}`;
}
