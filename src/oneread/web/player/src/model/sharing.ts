/** Which lanes took part in a load, store or atomic, and what each of them touched. */

import { cellBytes } from "./buffers";
import { popcount } from "./numbers";
import type { Recording } from "./recording";

export interface Sharing {
  /** Whether all lanes touch the same cells. */
  readonly together: boolean;
  readonly laneCount: number;
  readonly lanes: number;
  /** Cells of each lane. */
  readonly per: number;
  /** Bytes of each lane, and of all together. */
  readonly laneBytes: number;
  readonly bytes: number;
}

export function sharingOf(recording: Recording, event: number): Sharing {
  const { columns } = recording;
  const buffer = recording.bufferOf(event);
  const count = columns.count[event]!;
  const lanes = recording.lanesOf(event);
  const laneCount = popcount(lanes);
  const parts = buffer.types.length;
  const first = recording.firstCell(event);
  // A struct that all lanes read has as many cells as one member of each of so many lanes.
  const oneElement =
    count === parts && (parts === 1 || (columns.stride[event] === 1 && first % parts === 0));
  const together = laneCount > 1 && (oneElement || count % laneCount !== 0);
  const per = together ? count : Math.floor(count / laneCount);
  let laneBytes = 0;
  for (let cell = first; cell < first + per; cell++) laneBytes += cellBytes(buffer, cell);
  return { together, laneCount, lanes, per, laneBytes, bytes: laneBytes * laneCount };
}
