/** Where a player stops, by unit. Knows no playhead. */

import { mainPasses } from "./passes";
import type { Recording } from "./recording";
import type { Pass, Unit, WarpId } from "./types";

/**
 * Return the steps at which a unit begins or, for a barrier, at which the last warp comes to it.
 *
 * Of a whole launch a tile or a pass counts once for each block, when the first warp begins it; of
 * one warp all that it does count.
 */
export function stopsOf(recording: Recording, unit: Unit, follow: WarpId | null): Int32Array {
  if (unit === "statement") return statements(recording, follow);
  if (unit === "memory") return memory(recording, follow);
  if (unit === "barrier") return barriers(recording, follow);
  const found = begun(recording, unit, follow);
  return Int32Array.from(new Set(found)).sort();
}

function statements(recording: Recording, follow: WarpId | null): Int32Array {
  if (follow !== null) return recording.machine.stepsOf(follow);
  return Int32Array.from({ length: recording.length }, (_, step) => step);
}

function memory(recording: Recording, follow: WarpId | null): Int32Array {
  return statements(recording, follow).filter((step) => touchesMemory(recording, step));
}

function touchesMemory(recording: Recording, step: number): boolean {
  const [from, to] = recording.eventsOf(step);
  for (let event = from; event < to; event++) {
    const operation = recording.operation(event);
    if (operation === "load" || operation === "store" || operation === "atomic") return true;
  }
  return false;
}

function barriers(recording: Recording, follow: WarpId | null): Int32Array {
  const met = [...recording.machine.meetings.values()].flatMap(({ epochs }) => epochs);
  const steps =
    follow === null
      ? met.map((epoch) => epoch.release)
      : met.flatMap(({ arrivals }) => arrivals)
          .filter((one) => one.warp === follow.warp)
          .map((one) => one.step)
          .filter((step) => recording.columns.block[step] === follow.block);
  return Int32Array.from(steps).sort();
}

function* begun(
  recording: Recording, unit: "tile" | "pass", follow: WarpId | null,
): Generator<number> {
  const sweeps = new Map<string, number>();
  const known = new Set<string>();
  const starts: (readonly [key: string, step: number])[] = [];
  for (const pass of mainPasses(recording)) {
    if (follow !== null && !isOf(pass, follow)) continue;
    const warp = `${pass.block}/${pass.warp}`;
    const sweep = sweeps.get(warp) ?? 0;
    sweeps.set(warp, sweep + 1);
    const key = `${pass.block}/${sweep}`;
    if (unit === "pass") starts.push([key, pass.first]);
    else for (const tile of pass.tiles) starts.push([`${key}/${tile.number}`, tile.first]);
  }
  for (const [key, step] of starts.sort((one, other) => one[1] - other[1])) {
    if (known.has(key)) continue;
    known.add(key);
    yield step;
  }
}

function isOf(pass: Pass, at: WarpId): boolean {
  return pass.block === at.block && pass.warp === at.warp;
}
