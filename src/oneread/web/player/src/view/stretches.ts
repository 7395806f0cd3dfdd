// Passes of each block, all of its warps together: what timeline and chart show as brackets.
import type { Tile } from "../model";
import type { Seen } from "./seen";

export interface Stretch {
  readonly block: number;
  readonly number: number;
  readonly first: number;
  readonly last: number;
  /** Where rounds of the pass begin: of the warp that is first there. */
  readonly tiles: readonly Tile[];
}

/** Return the passes of all blocks, in order of their first steps. */
export function stretches(seen: Seen): Stretch[] {
  const found = new Map<string, Stretch>();
  for (const { block, number, first, last, tiles } of seen.passes) {
    const key = `${block} ${number}`;
    const one = found.get(key);
    const joined = one
      ? { ...one, first: Math.min(one.first, first), last: Math.max(one.last, last) }
      : { block, number, first, last, tiles };
    found.set(key, joined);
  }
  return [...found.values()].sort((a, b) => a.first - b.first);
}
