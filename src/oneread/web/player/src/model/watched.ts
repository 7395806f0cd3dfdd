/** What a person chose to watch: a variable of a thread, or a formula over several. */

import type { Point } from "./answers";
import { formulaOf } from "./formula";
import type { Recording } from "./recording";
import { laneValues } from "./registers";
import type { WarpId } from "./types";

/** Something that has one value a thread, or one for the whole block. */
export interface Variable {
  readonly name: string;
  readonly type: string;
  readonly space: "register" | "shared";
}

export interface Thread extends WarpId {
  readonly lane: number;
}

/** Return what can be watched: registers that are no addresses, and single shared numbers. */
export function variables(recording: Recording): readonly Variable[] {
  return recording.once(findVariables);
}

function findVariables(recording: Recording): Variable[] {
  const found = new Map<string, Variable>();
  for (const { name, type, space } of recording.names) {
    if (space === "register" && !type.includes("*")) {
      found.set(name, { name, type, space: "register" });
    }
  }
  for (const { name, types, space, cells } of recording.buffers) {
    if (space === "shared" && cells === 1 && !found.has(name)) {
      found.set(name, { name, type: types[0]!, space: "shared" });
    }
  }
  return [...found.values()];
}

/** Whether a text names variables that this recording has. */
export function isWatchable(recording: Recording, text: string): boolean {
  const known = new Set(variables(recording).map((one) => one.name));
  const names = formulaOf(text)?.names ?? [];
  return names.length > 0 && names.every((name) => known.has(name));
}

/** Return every value that a variable or a formula takes in a thread; none where it has none. */
export function watched(recording: Recording, text: string, thread: Thread): Point[] {
  const formula = formulaOf(text);
  if (formula === null || !isWatchable(recording, text)) return [];
  const all = formula.names.map((name) => ({ name, points: history(recording, name, thread) }));
  if (formula.text === all[0]!.name) return all[0]!.points;
  const changes = all
    .flatMap(({ name, points }) => points.map((point) => ({ name, point })))
    .sort((one, other) => one.point.step - other.point.step);
  const now = new Map<string, number>();
  const found: Point[] = [];
  for (const [place, { name, point }] of changes.entries()) {
    now.set(name, point.value);
    // What changes in one step changes at once.
    if (changes[place + 1]?.point.step === point.step || now.size < all.length) continue;
    const value = formula.value((one) => now.get(one)!);
    if (!Object.is(found.at(-1)?.value, value)) {
      found.push({ ...thread, step: point.step, value });
    }
  }
  return found;
}

/** Return every value of a variable, where it becomes another one. */
function history(recording: Recording, name: string, thread: Thread): Point[] {
  const variable = variables(recording).find((one) => one.name === name)!;
  const steps = variable.space === "register" ? recording.machine.stepsOf(thread) : undefined;
  const read = variable.space === "register" ? inRegister : inShared;
  const found: Point[] = [];
  const [first, last] = steps ? [0, steps.length] : [0, recording.length];
  for (let place = first; place < last; place++) {
    const step = steps ? steps[place]! : place;
    if (recording.columns.block[step] !== thread.block) continue;
    const value = read(recording, step, variable, thread.lane);
    if (value === undefined || Object.is(found.at(-1)?.value, value)) continue;
    found.push({ ...thread, step, value });
  }
  return found;
}

function inRegister(
  recording: Recording, step: number, { name, type }: Variable, lane: number,
): number | undefined {
  if (!((recording.columns.mask[step]! >>> lane) & 1)) return undefined;
  const event = lastOf(recording, step, name, "register", (one) => one === "register");
  return event < 0 ? undefined : Number(laneValues(recording, event, type)[lane]);
}

function inShared(
  recording: Recording, step: number, { name, type }: Variable,
): number | undefined {
  const event = lastOf(recording, step, name, "shared", (one) => one !== "load");
  if (event < 0) return undefined;
  const { value, count, pool } = recording.columns;
  const place = value[event]! + count[event]! - 1;
  return Number(recording.pools.value(pool[event] as 0 | 1 | 2, place, type));
}

/** Return the last event of a step that gives something a value, -1 for none. */
function lastOf(
  recording: Recording, step: number, name: string, space: string,
  gives: (operation: string) => boolean,
): number {
  const [from, to] = recording.eventsOf(step);
  for (let event = to - 1; event >= from; event--) {
    const named = recording.names[recording.columns.name[event]!]!;
    if (named.name === name && named.space === space && gives(recording.operation(event))) {
      return event;
    }
  }
  return -1;
}
