/** Steps and events of a recording as typed columns. Knows no meaning beyond their places. */

import type { Recording as Recorded } from "../schema";

/** What an event can be. */
export type Operation =
  | "load"
  | "store"
  | "atomic"
  | "register"
  | "barrier"
  | "shuffle"
  | "branch";

export interface Columns {
  readonly steps: number;
  readonly events: number;
  readonly number: Int32Array;
  readonly block: Int32Array;
  readonly warp: Int32Array;
  readonly line: Int32Array;
  readonly column: Int32Array;
  readonly mask: Uint32Array;
  /** Events before this one are of the step or of earlier ones. */
  readonly end: Int32Array;
  readonly operation: readonly Operation[];
  /** Place of the event's operation in `operation`. */
  readonly what: Uint8Array;
  readonly name: Int32Array;
  /** First cell, or the place of the cells among the integers. */
  readonly at: Float64Array;
  /** From cell to cell; NaN where `at` is a place. */
  readonly stride: Float64Array;
  readonly count: Int32Array;
  readonly value: Float64Array;
  readonly old: Float64Array;
  readonly pool: Uint8Array;
  /** The step that owns each event. */
  readonly step: Int32Array;
  /** Lanes of accesses in which fewer took part than in their step. */
  readonly partial: ReadonlyMap<number, number>;
}

const NOTHING: Pick<Recorded, "operations" | "steps" | "events" | "partial"> = {
  operations: [],
  steps: { step: [], block: [], warp: [], line: [], column: [], mask: [], end: [] },
  events: { operation: [], name: [], at: [], stride: [], count: [], value: [], old: [], pool: [] },
  partial: { event: [], lanes: [] },
};

export function columnsOf(recorded: Recorded | null): Columns {
  const { operations, steps, events, partial } = recorded ?? NOTHING;
  const end = Int32Array.from(steps.end);
  // What a warp did after its last step belongs to no step: no step shows it.
  const owned = end.at(-1) ?? 0;
  const step = new Int32Array(owned);
  for (let index = 0, event = 0; index < end.length; index++) {
    while (event < end[index]!) step[event++] = index;
  }
  return {
    steps: end.length,
    events: owned,
    number: Int32Array.from(steps.step),
    block: Int32Array.from(steps.block),
    warp: Int32Array.from(steps.warp),
    line: Int32Array.from(steps.line),
    column: Int32Array.from(steps.column),
    mask: Uint32Array.from(steps.mask),
    end,
    operation: operations as Operation[],
    what: Uint8Array.from(events.operation),
    name: Int32Array.from(events.name),
    at: Float64Array.from(events.at),
    stride: Float64Array.from(events.stride, (one) => one ?? NaN),
    count: Int32Array.from(events.count),
    value: Float64Array.from(events.value),
    old: Float64Array.from(events.old),
    pool: Uint8Array.from(events.pool),
    step,
    partial: new Map(partial.event.map((event, place) => [event, partial.lanes[place]!])),
  };
}
