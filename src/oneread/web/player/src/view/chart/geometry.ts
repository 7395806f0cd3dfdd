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
  const finite = points.map((one) => one.value).filter(Number.isFinite);
  let low = Math.min(...finite);
  let high = Math.max(...finite);
  if (finite.length === 0) [low, high] = [0, 1];
  if (low === high) [low, high] = [low - 1, high + 1];
  const y = (value: number): number => bottom - ((value - low) / (high - low)) * (bottom - top);
  return { low, high, bottom, top, y };
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
