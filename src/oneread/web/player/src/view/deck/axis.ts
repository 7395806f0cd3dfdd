// The axis of the timeline: steps for one kernel, bytes of global memory for several.
import { level } from "../../model";
import type { Seen } from "../seen";

export interface Axis {
  readonly kind: "steps" | "bytes";
  readonly end: number;
  /** Where a kernel's playhead stands. */
  at(seen: Seen): number;
  /** Where a step lies. */
  of(seen: Seen, step: number): number;
}

export function axisOf(all: readonly Seen[]): Axis {
  if (all.length > 1) {
    return {
      kind: "bytes",
      end: Math.max(1, ...all.map((one) => one.allBytes)),
      at: (seen) => seen.bytes,
      of: (seen, step) => (step < 0 ? 0 : seen.recording.bytes(step)),
    };
  }
  return {
    kind: "steps",
    end: Math.max(1, (all[0]?.recording.length ?? 1) - 1),
    at: (seen) => Math.max(0, seen.at),
    of: (_, step) => Math.max(0, step),
  };
}

/** Return the step of a kernel at a place of the axis. */
export function stepAt(axis: Axis, seen: Seen, place: number): number {
  if (axis.kind === "steps") return Math.round(place);
  return level([seen.recording], place)[0] ?? -1;
}
