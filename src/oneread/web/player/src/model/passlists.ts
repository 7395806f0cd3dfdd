/** What each pass reads, writes and does in shared memory, line by line. */

import type { Operation, PassList } from "./answers";
import { mainPasses } from "./passes";
import type { Recording } from "./recording";
import { requests } from "./requests";
import type { Request } from "./types";

interface Open {
  readonly number: number;
  readonly operations: Map<string, Operation>;
  barriers: number;
}

/**
 * Return what the passes over the main buffer do, of one block or of all that were recorded.
 * Number 0 is what warps do before their first pass; it is left out where that is nothing.
 */
export function passLists(recording: Recording, block?: number): PassList[] {
  const open = new Map<number, Open>();
  const of = (number: number): Open => {
    const known = open.get(number) ?? { number, operations: new Map(), barriers: 0 };
    open.set(number, known);
    return known;
  };
  for (const at of recording.allWarps()) {
    if (block !== undefined && at.block !== block) continue;
    const ours = mainPasses(recording)
      .filter((one) => one.block === at.block && one.warp === at.warp);
    let next = 0;
    for (const step of recording.machine.stepsOf(at)) {
      while (next < ours.length && ours[next]!.first <= step) next++;
      const list = of(next === 0 ? 0 : ours[next - 1]!.number);
      for (const request of requests(recording, step)) add(list.operations, request);
    }
  }
  for (const [of_block, { epochs }] of recording.machine.meetings) {
    if (block !== undefined && of_block !== block) continue;
    for (const { arrivals } of epochs) of(passAt(recording, of_block, arrivals[0]!)).barriers++;
  }
  return [...open.values()]
    .filter((one) => one.operations.size > 0 || one.barriers > 0)
    .sort((one, other) => one.number - other.number)
    .map(({ number, operations, barriers }) => listed(number, [...operations.values()], barriers));
}

/** Return the pass in which a warp comes to a barrier. */
function passAt(
  recording: Recording, block: number, { warp, step }: { warp: number; step: number },
): number {
  return (
    mainPasses(recording).findLast(
      (one) => one.block === block && one.warp === warp && one.first <= step,
    )?.number ?? 0
  );
}

function add(operations: Map<string, Operation>, request: Request): void {
  const { line, buffer, kind } = request;
  const key = `${line} ${buffer.index} ${kind}`;
  const known = operations.get(key);
  operations.set(key, {
    line,
    buffer,
    kind,
    requests: (known?.requests ?? 0) + 1,
    elements: (known?.elements ?? 0) + elementsOf(request),
    bytes: (known?.bytes ?? 0) + request.bytes,
    sectors: (known?.sectors ?? 0) + request.sectors.length,
    wavefronts: (known?.wavefronts ?? 0) + request.wavefronts,
  });
}

/** Return the numbers that lanes move; each lane counts where all touch the same. */
function elementsOf({ cells, together, laneCount }: Request): number {
  return together ? cells.length * laneCount : cells.length;
}

function listed(number: number, operations: Operation[], barriers: number): PassList {
  operations.sort((one, other) => one.line - other.line);
  const outer = operations.filter(({ buffer }) => buffer.space === "global");
  return {
    number,
    reads: outer.filter(({ kind }) => kind !== "store"),
    writes: outer.filter(({ kind }) => kind !== "load"),
    shared: operations.filter(({ buffer }) => buffer.space === "shared"),
    barriers,
  };
}
