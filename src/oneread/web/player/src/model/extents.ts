/** How far the values of each buffer and variable reach in a run, for the colours of their cells. */

import { lanesOf } from "./numbers";
import type { Recording } from "./recording";
import { laneValues } from "./registers";

/** Lowest and highest finite value. */
export type Extent = readonly [number, number];

/** Events that are looked at; of more, every nth is. */
const MOST_EVENTS = 40_000;

/** Return the extent of what has a name in a space; 0 to 1 where it never had a finite value. */
export function extentOf(recording: Recording, space: string, name: string): Extent {
  return recording.once(findExtents).get(`${space} ${name}`) ?? [0, 1];
}

function findExtents(recording: Recording): ReadonlyMap<string, Extent> {
  const found = new Map<string, [number, number]>();
  for (const buffer of recording.buffers) {
    add(found, `${buffer.space} ${buffer.name}`, recording.machine.before(buffer) ?? []);
  }
  const { columns } = recording;
  const stride = Math.ceil(columns.events / MOST_EVENTS);
  for (let event = 0; event < columns.events; event += stride) {
    const operation = recording.operation(event);
    const { space, name, type } = recording.names[columns.name[event]!]!;
    if (operation === "register" && type !== "bool") {
      const lanes = lanesOf(columns.mask[columns.step[event]!]!);
      const values = laneValues(recording, event, type);
      add(found, `${space} ${name}`, lanes.map((lane) => Number(values[lane])));
    } else if (operation === "store" || operation === "atomic") {
      add(found, `${space} ${name}`, stored(recording, event));
    }
  }
  return found;
}

function stored(recording: Recording, event: number): number[] {
  const { columns, pools } = recording;
  const { types } = recording.bufferOf(event);
  const pool = columns.pool[event] as 0 | 1 | 2;
  return recording.cellsOf(event).map((cell, item) =>
    pools.number(pool, columns.value[event]! + item, types[cell % types.length]!),
  );
}

function add(found: Map<string, [number, number]>, key: string, values: Iterable<number>): void {
  const extent = found.get(key);
  let [low, high] = extent ?? [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low <= high) found.set(key, [low, high]);
}
