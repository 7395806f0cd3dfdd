/** Numbers in words, and sets of lanes. Knows nothing of traces. */

import type { Num } from "../schema";
import type { Value } from "./types";

/** Lanes of a warp. */
export const WARP = 32;

export const FULL = 0xffff_ffff;

export function popcount(bits: number): number {
  let rest = bits >>> 0;
  rest -= (rest >>> 1) & 0x5555_5555;
  rest = (rest & 0x3333_3333) + ((rest >>> 2) & 0x3333_3333);
  return Math.imul((rest + (rest >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** Return the lanes of a mask, in order. */
export function lanesOf(bits: number): number[] {
  const lanes: number[] = [];
  for (let lane = 0; lane < WARP; lane++) if ((bits >>> lane) & 1) lanes.push(lane);
  return lanes;
}

/** Return lanes in words: `0-7, 12`. */
export function laneList(bits: number): string {
  return ranges(lanesOf(bits), 1).map(({ low, high }) =>
    low === high ? `${low}` : `${low}-${high}`,
  ).join(", ") || "none";
}

/** Numbers with equal steps between them. */
export interface Range {
  readonly low: number;
  readonly high: number;
  readonly stride: number;
}

/** Return distinct numbers as runs, in order; those with another step than 1 need four or more. */
export function ranges(numbers: Iterable<number>, largest = Infinity): Range[] {
  const sorted = Float64Array.from(new Set(numbers)).sort();
  const found: Range[] = [];
  for (let at = 0; at < sorted.length; ) {
    const low = sorted[at]!;
    const stride = at + 1 < sorted.length ? sorted[at + 1]! - low : 1;
    let last = at;
    while (last + 1 < sorted.length && sorted[last + 1]! - sorted[last]! === stride) last++;
    const kept = stride === 1 || (stride <= largest && last - at >= 3);
    if (!kept) last = at;
    found.push({ low, high: sorted[last]!, stride: kept ? stride : 1 });
    at = last + 1;
  }
  return found;
}

/** Return a number as a file has it. */
export function numberOf(value: Num): number {
  return Number(value);
}

/** Return a number with three or four significant digits, as a label has it, with a true minus. */
export function short(value: Value): string {
  return digits(value).replaceAll("-", "−");
}

function digits(value: Value): string {
  if (typeof value === "bigint") return value.toString();
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e6) {
    return String(Number(value.toPrecision(size >= 1000 ? 6 : 3)));
  }
  return value.toExponential(2).replace("e+", "e");
}

/** Return whether two numbers are one, NaN being itself, or so near that rounding parts them. */
export function near(one: number, other: number, relative: number): boolean {
  if (Object.is(one, other) || one === other) return true;
  if (!Number.isFinite(one) || !Number.isFinite(other)) return false;
  return Math.abs(one - other) <= relative * Math.max(Math.abs(one), Math.abs(other));
}

/** Return how many of the sorted numbers are at most `most`. */
export function countUpTo(sorted: ArrayLike<number>, most: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}
