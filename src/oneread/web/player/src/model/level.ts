/** Several recordings at one moment: when each has moved as many bytes of global memory. */

import { countUpTo } from "./numbers";
import type { Recording } from "./recording";

/** Return the bytes that a whole recording moves. */
export function totalBytes(recording: Recording): number {
  return recording.bytes(recording.length - 1);
}

/**
 * Return where each recording is when it has moved so many bytes: its last step up to there.
 *
 * By share of steps a kernel with many barriers would look slow; by bytes the one that reads less
 * has ended while the other still reads.
 */
export function level(recordings: readonly Recording[], bytes: number): number[] {
  return recordings.map(({ moved }) => countUpTo(moved, bytes) - 1);
}
