/** Who stood at a barrier, from when to when. */

import type { Recording } from "./recording";

export interface Arrival {
  readonly warp: number;
  readonly line: number;
  readonly step: number;
}

/** Warps of a block that met. */
export interface Epoch {
  readonly arrivals: readonly Arrival[];
  /** Step of the last arrival: with the next step of any of them all have gone on. */
  readonly release: number;
}

/** The meetings of a block, in order, and the step at which each began. */
export interface Meetings {
  readonly epochs: readonly Epoch[];
  readonly starts: Int32Array;
}

/** Return the meetings of each block. */
export function meetingsOf(recording: Recording): ReadonlyMap<number, Meetings> {
  const open = new Map<number, Arrival[]>();
  const done = new Map<number, Epoch[]>(recording.blocks.map((block) => [block, []]));
  const close = (block: number, arrivals: Arrival[]): void => {
    if (arrivals.length > 0) {
      done.get(block)!.push({ arrivals, release: arrivals.at(-1)!.step });
    }
    open.set(block, []);
  };
  const { block: blocks, warp: warps, line: lines } = recording.columns;
  for (let step = 0; step < recording.length; step++) {
    const block = blocks[step]!;
    const warp = warps[step]!;
    const waiting = open.get(block) ?? [];
    // One that waits goes on only after all have come.
    if (waiting.some((one) => one.warp === warp)) close(block, waiting);
    if (isBarrier(recording, step)) {
      open.set(block, [...(open.get(block) ?? []), { warp, line: lines[step]!, step }]);
    }
  }
  for (const [block, waiting] of open) close(block, waiting);
  return new Map(
    [...done].map(([block, epochs]) => [
      block,
      { epochs, starts: Int32Array.from(epochs, (one) => one.arrivals[0]!.step) },
    ]),
  );
}

function isBarrier(recording: Recording, step: number): boolean {
  const [from, to] = recording.eventsOf(step);
  for (let event = from; event < to; event++) {
    if (recording.operation(event) === "barrier") return true;
  }
  return false;
}
