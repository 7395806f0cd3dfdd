// From points of the run to places in the chart.
import type { Bead, Point } from "../../model";
import type { Curve } from "../curves";

export interface Box {
  readonly left: number;
  readonly right: number;
  /** First and last step. */
  readonly first: number;
  readonly last: number;
}

export interface Scale {
  readonly low: number;
  readonly high: number;
  readonly bottom: number;
  readonly top: number;
  y(value: number): number;
}

export function scaleOf(points: readonly Point[], bottom: number, top: number): Scale {
  let [low, high] = [Infinity, -Infinity];
  for (const { value } of points) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) [low, high] = [0, 1];
  if (low === high) [low, high] = [low - 1, high + 1];
  const y = (value: number): number => bottom - ((value - low) / (high - low)) * (bottom - top);
  return { low, high, bottom, top, y };
}

/** What a line is: m, d, or something watched, which has the colour of where it lives. */
export type Kind = "m" | "d" | "register" | "shared" | "formula";

/** A line with its place. */
export interface Plot {
  readonly kind: Kind;
  /** The variable or the formula. */
  readonly name: string;
  readonly points: readonly Point[];
  readonly scale: Scale;
}

export type Line = Omit<Plot, "scale">;

/** Heights, in rem: of the room for labels over a line, and of the line. */
const ROOM: Record<Kind, readonly [number, number]> = {
  m: [1.5, 5.2],
  d: [1.2, 3.6],
  register: [1.9, 2.4],
  shared: [1.9, 2.4],
  formula: [1.9, 2.4],
};
const AXIS = 1.4;

/** Place lines under each other; the passes stand below them. */
export function plotsOf(lines: readonly Line[], rem: number): { plots: Plot[]; height: number } {
  let y = 0;
  const plots = lines.map((line) => {
    const [over, tall] = ROOM[line.kind];
    const top = y + over * rem;
    y = top + tall * rem;
    return { ...line, scale: scaleOf(line.points, y, top) };
  });
  return { plots, height: y + (AXIS + 0.5) * rem };
}

export function xOf(step: number, { left, right, first, last: end }: Box): number {
  return left + ((step - first) / Math.max(1, end - first)) * (right - left);
}

/** A path that keeps a value until the next one. Values that are not finite leave a gap. */
export function stairs(points: readonly Point[], box: Box, scale: Scale): string {
  let path = "";
  let open = false;
  for (const { step, value } of points) {
    const x = xOf(step, box).toFixed(1);
    if (!Number.isFinite(value)) {
      if (open) path += `H${x}`;
      open = false;
      continue;
    }
    const y = scale.y(value).toFixed(1);
    path += open ? `H${x}V${y}` : `M${x} ${y}`;
    open = true;
  }
  return open ? `${path}H${box.right.toFixed(1)}` : path;
}

/** The last point up to a step. */
export function last<P extends Point>(points: readonly P[], step: number): P | undefined {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle]!.step <= step) low = middle + 1;
    else high = middle;
  }
  return points[low - 1];
}

export interface PlacedBead {
  readonly bead: Bead;
  readonly x: number;
  readonly y: number;
  /** Whether there is room for its number. */
  readonly label: boolean;
}

export function beadsIn(curve: Curve, box: Box, scale: Scale, rem: number): PlacedBead[] {
  let free = -Infinity;
  return curve.beads.map((bead) => {
    const x = xOf(bead.step, box);
    const m = bead.after ?? last(curve.m?.points ?? [], bead.step)?.value ?? scale.low;
    const label = x - free > rem * 3.6;
    if (label) free = x;
    return { bead, x, y: scale.y(Number.isFinite(m) ? m : scale.low), label };
  });
}
