// The axis of the timeline: steps for one kernel, bytes of global memory for several; and the part
// of it that is in view.
import { level } from "../../model";
import type { Seen } from "../seen";

export interface Axis {
  readonly kind: "steps" | "bytes";
  readonly end: number;
  /** The smallest part of it that is worth to be looked at. */
  readonly least: number;
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
      least: 512,
      at: (seen) => seen.bytes,
      of: (seen, step) => (step < 0 ? 0 : seen.recording.bytes(step)),
    };
  }
  return {
    kind: "steps",
    end: Math.max(1, (all[0]?.recording.length ?? 1) - 1),
    least: 12,
    at: (seen) => Math.max(0, seen.at),
    of: (_, step) => Math.max(0, step),
  };
}

/** Return the step of a kernel at a place of the axis. */
export function stepAt(axis: Axis, seen: Seen, place: number): number {
  if (axis.kind === "steps") return Math.round(place);
  return level([seen.recording], place)[0] ?? -1;
}

/** Where the playheads are, as a share of the axis. */
export function shareAt(axis: Axis, all: readonly Seen[]): number {
  return Math.max(0, ...all.map((one) => axis.at(one))) / axis.end;
}

/** A part of an axis, in shares of it. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export const WHOLE: Span = { from: 0, to: 1 };

export function isWhole({ from, to }: Span): boolean {
  return from <= 0 && to >= 1;
}

/** Return a span that is so much longer around a share, which stays where it is. */
export function zoomed(span: Span, by: number, around: number, least: number): Span {
  const old = span.to - span.from;
  const length = Math.max(Math.min(1, least), Math.min(1, old * by));
  const part = Math.max(0, Math.min(1, (around - span.from) / old));
  return placed(around - part * length, length);
}

/** Return a span further on by a share of the axis, as far as there is some. */
export function panned({ from, to }: Span, by: number): Span {
  return placed(from + by, to - from);
}

/** Return a span that holds a share: itself, or as long a one that begins a bit before it. */
export function holding(span: Span, share: number): Span {
  if (share >= span.from && share <= span.to) return span;
  const length = span.to - span.from;
  return placed(share - 0.15 * length, length);
}

/** Return the span between two shares, in whichever order; no shorter than the least. */
export function between(one: number, other: number, least: number): Span {
  const [from, to] = [Math.max(0, Math.min(one, other)), Math.min(1, Math.max(one, other))];
  const length = Math.max(Math.min(1, least), to - from);
  return placed((from + to - length) / 2, length);
}

function placed(from: number, length: number): Span {
  const start = Math.max(0, Math.min(1 - length, from));
  return { from: start, to: start + length };
}
