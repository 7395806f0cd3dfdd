// Passes of each block, all of its warps together: what timeline and chart show as brackets.
import { type Recording, passes } from "../model";

/** Where a tile begins. */
export interface Begin {
  /** From 0. */
  readonly tile: number;
  readonly step: number;
}

export interface Stretch {
  readonly block: number;
  readonly number: number;
  readonly first: number;
  readonly last: number;
  /** In order; a tile that warps begin one right after the other is there once. */
  readonly tiles: readonly Begin[];
}

/** Return the passes of all blocks, in order of their first steps. */
export function stretches(recording: Recording): readonly Stretch[] {
  return recording.once(findStretches);
}

function findStretches(recording: Recording): Stretch[] {
  const found = new Map<string, Stretch>();
  for (const { block, number, first, last, tiles } of passes(recording)) {
    const key = `${block} ${number}`;
    const begins = tiles.map((one) => ({ tile: one.number, step: one.first }));
    const known = found.get(key);
    found.set(key, {
      block,
      number,
      first: Math.min(first, known?.first ?? first),
      last: Math.max(last, known?.last ?? last),
      tiles: [...(known?.tiles ?? []), ...begins],
    });
  }
  return [...found.values()]
    .map((one) => ({ ...one, tiles: merged(one.tiles) }))
    .sort((a, b) => a.first - b.first);
}

function merged(tiles: readonly Begin[]): Begin[] {
  return [...tiles]
    .sort((a, b) => a.step - b.step)
    .filter((one, at, all) => one.tile !== all[at - 1]?.tile);
}
