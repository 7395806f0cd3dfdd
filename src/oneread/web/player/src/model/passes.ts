/**
 * Passes over a buffer, and the tiles that they are made in.
 *
 * The pass of a load is how often its block has read those elements, this time included. That
 * needs no knowledge of loops: a function that is called three times makes three passes, and
 * loads of different lines that share the work make one.
 */

import { countUpTo } from "./numbers";
import type { Recording } from "./recording";
import type { Buffer, Pass, Tile } from "./types";

/** Steps within which a warp that loads the same cells again only repeats itself. */
const REPEAT = 3;

/** Number of the pass of each load of global memory. */
export interface PassNumbers {
  /** By event; 0 for anything else. */
  readonly ofEvent: Uint16Array;
  /** The most passes over each buffer. */
  readonly most: ReadonlyMap<Buffer, number>;
}

/** How often the block that reads now has read each cell, and when it did so last. */
interface Seen {
  readonly block: Int32Array;
  readonly times: Uint16Array;
  readonly step: Int32Array;
}

export function passNumbers(recording: Recording): PassNumbers {
  const { columns } = recording;
  const ofEvent = new Uint16Array(columns.events);
  const most = new Map<Buffer, number>();
  const seen = new Map<Buffer, Seen>();
  for (let event = 0; event < columns.events; event++) {
    if (recording.operation(event) !== "load") continue;
    const buffer = recording.bufferOf(event);
    if (buffer.space !== "global") continue;
    let known = seen.get(buffer);
    if (known === undefined) seen.set(buffer, (known = nothingSeen(buffer.cells)));
    const number = read(known, recording.cellsOf(event), columns, columns.step[event]!);
    ofEvent[event] = number;
    most.set(buffer, Math.max(number, most.get(buffer) ?? 0));
  }
  return { ofEvent, most };
}

function nothingSeen(cells: number): Seen {
  return {
    block: new Int32Array(cells).fill(-1),
    times: new Uint16Array(cells),
    step: new Int32Array(cells),
  };
}

function read(
  seen: Seen, cells: readonly number[], { block, warp }: Recording["columns"], step: number,
): number {
  let number = Infinity;
  for (const cell of cells) {
    const before = seen.step[cell]!;
    const again = seen.block[cell] === block[step];
    const repeats = again && step - before <= REPEAT && warp[before] === warp[step];
    if (!again) seen.times[cell] = 1;
    else if (!repeats) seen.times[cell]!++;
    seen.block[cell] = block[step]!;
    seen.step[cell] = step;
    // An element that is read once more than its neighbours does not start a pass.
    number = Math.min(number, seen.times[cell]!);
  }
  return number;
}

/** Return the buffer in global memory of which most is read. */
export function mainBuffer(recording: Recording): Buffer | undefined {
  const loads = (buffer: Buffer): number => {
    const counts = recording.run.counts.buffers.find((one) => one.name === buffer.name);
    return counts === undefined ? 0 : counts.loads.mean * buffer.cells;
  };
  return recording.buffers
    .filter((one) => one.space === "global" && loads(one) > 0)
    .sort((one, other) => loads(other) - loads(one))[0];
}

/** Return the passes over buffers of global memory, in order of their first steps. */
export function passes(recording: Recording): readonly Pass[] {
  return recording.once(findPasses);
}

/** Return the passes over the main buffer only. */
export function mainPasses(recording: Recording): readonly Pass[] {
  const main = mainBuffer(recording);
  return passes(recording).filter((one) => one.buffer === main);
}

interface Load {
  readonly step: number;
  readonly pass: number;
  readonly cells: readonly number[];
}

function findPasses(recording: Recording): Pass[] {
  const found = recording.allWarps().flatMap((at) => {
    const steps = recording.machine.stepsOf(at);
    return [...loadsOf(recording, steps)].flatMap(([buffer, loads]) =>
      sweeps(loads).map((sweep, index, all): Pass => {
        const first = sweep[0]!.step;
        const last = lastOf(steps, (all[index + 1]?.[0]!.step ?? Infinity) - 1);
        return {
          ...at,
          buffer,
          number: sweep[0]!.pass,
          first,
          last,
          lines: [...new Set(sweep.map((one) => recording.columns.line[one.step]!))],
          loads: sweep.reduce((sum, one) => sum + one.cells.length, 0),
          stores: storesOf(recording, steps, first, last),
          tiles: tilesOf(recording, steps, sweep, last),
        };
      }),
    );
  });
  return found.sort((one, other) => one.first - other.first);
}

function loadsOf(recording: Recording, steps: Int32Array): Map<Buffer, Load[]> {
  const { ofEvent } = recording.once(passNumbers);
  const found = new Map<Buffer, Load[]>();
  for (const step of steps) {
    const [from, to] = recording.eventsOf(step);
    for (let event = from; event < to; event++) {
      if (ofEvent[event] === 0) continue;
      const buffer = recording.bufferOf(event);
      const load = { step, pass: ofEvent[event]!, cells: recording.cellsOf(event) };
      const known = found.get(buffer);
      if (known === undefined) found.set(buffer, [load]);
      else known.push(load);
    }
  }
  return found;
}

/** Part loads where the number of their pass changes. */
function sweeps(loads: readonly Load[]): Load[][] {
  const found: Load[][] = [];
  for (const load of loads) {
    const open = found.at(-1);
    if (open !== undefined && open[0]!.pass === load.pass) open.push(load);
    else found.push([load]);
  }
  return found;
}

/** Part a sweep into rounds: each begins where the statement that loaded first loads again. */
function tilesOf(
  recording: Recording, steps: Int32Array, sweep: readonly Load[], last: number,
): Tile[] {
  const place = ({ step }: Load): string => {
    const { line, column } = recording.columns;
    return `${line[step]}:${column[step]}`;
  };
  const rounds: Load[][] = [];
  for (const load of sweep) {
    const open = rounds.at(-1);
    const begun = open !== undefined && place(open[0]!) === place(load);
    if (open === undefined || (begun && open[0]!.step !== load.step)) rounds.push([load]);
    else open.push(load);
  }
  return rounds.map((round, number) => {
    const cells = round.flatMap((one) => one.cells);
    return {
      number,
      first: round[0]!.step,
      last: lastOf(steps, (rounds[number + 1]?.[0]!.step ?? last + 1) - 1),
      low: cells.reduce((low, cell) => Math.min(low, cell), Infinity),
      high: cells.reduce((high, cell) => Math.max(high, cell), -Infinity),
    };
  });
}

/** Return the last of a warp's steps up to one. */
function lastOf(steps: Int32Array, most: number): number {
  return steps[countUpTo(steps, most) - 1]!;
}

function storesOf(recording: Recording, steps: Int32Array, first: number, last: number): number {
  let stores = 0;
  for (const step of steps.subarray(countUpTo(steps, first - 1), countUpTo(steps, last))) {
    const [from, to] = recording.eventsOf(step);
    for (let event = from; event < to; event++) {
      const operation = recording.operation(event);
      if (operation !== "store" && operation !== "atomic") continue;
      if (recording.bufferOf(event).space === "global") stores += recording.columns.count[event]!;
    }
  }
  return stores;
}
