/** Registers: which event gave a variable of a warp its value, and in which lanes it has one. */

import { History } from "./history";
import { FULL, WARP } from "./numbers";
import type { Recording } from "./recording";
import type { Value, WarpId } from "./types";

/** Variables in registers: who changed them when, and in which lanes they have a value. */
export class Registers {
  readonly names: readonly { readonly name: string; readonly type: string; readonly at: number }[];
  readonly #history: History;
  readonly #known: Uint32Array;

  constructor(recording: Recording) {
    const { columns } = recording;
    this.names = recording.names
      .map(({ name, type, space }, at) => ({ name, type, space, at }))
      .filter((one) => one.space === "register");
    const place = new Map(this.names.map((one, index) => [one.at, index]));
    const slot = (event: number): number => {
      const step = columns.step[event]!;
      const at = { block: columns.block[step]!, warp: columns.warp[step]! };
      return warpPlace(recording, at) * this.names.length + place.get(columns.name[event]!)!;
    };
    const events: number[] = [];
    for (let event = 0; event < columns.events; event++) {
      if (recording.operation(event) === "register") events.push(event);
    }
    const slots = recording.blocks.length * recording.warps * this.names.length;
    this.#history = new History(slots, (touch) => {
      for (const event of events) touch(slot(event), event, 0, 1);
    });
    const known = new Uint32Array(slots);
    this.#known = new Uint32Array(columns.events);
    for (const event of events) {
      const mask = columns.mask[columns.step[event]!]!;
      // A declaration has no value before it: it makes the variable new.
      const kept = columns.old[event]! < 0 ? 0 : known[slot(event)]!;
      known[slot(event)] = this.#known[event] = (kept | mask) >>> 0;
    }
  }

  /** Return the event that gave a variable of a warp the value it has before event `bound`. */
  latest(warp: number, variable: number, bound: number): number {
    const entry = this.#history.latest(warp * this.names.length + variable, bound);
    return entry < 0 ? -1 : this.#history.event(entry);
  }

  /** Lanes in which a variable has a value after an event. */
  known(event: number): number {
    return this.#known[event]!;
  }
}

/** Return what an event left in each lane of a variable; one value may stand for all. */
export function laneValues(recording: Recording, event: number, type: string): Value[] {
  const { columns, pools } = recording;
  const pool = columns.pool[event] as 0 | 1 | 2;
  const place = columns.value[event]!;
  if (type === "bool") {
    const bits = pools.integer(place) & FULL;
    return Array.from({ length: WARP }, (_, lane) => (bits >>> lane) & 1);
  }
  // All lanes have one type, so that patterns are those of a float, also where the type is not
  // known: of a member of a struct.
  const kind = pool === 2 ? "double" : type;
  const shared = columns.count[event] === 1;
  return Array.from({ length: WARP }, (_, lane) =>
    pools.value(pool, shared ? place : place + lane, kind),
  );
}

/** Return the place of a warp among all those of the recorded blocks, -1 for none. */
export function warpPlace(recording: Recording, at: WarpId): number {
  const block = recording.placeOf(at.block);
  if (block === undefined || at.warp < 0 || at.warp >= recording.warps) return -1;
  return block * recording.warps + at.warp;
}
