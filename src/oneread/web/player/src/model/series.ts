/** m, d and the factor over time, and each correction in words. */

import type { Watch } from "../schema";
import type { Bead, Line, Point, Series } from "./answers";
import { near, numberOf, short } from "./numbers";
import type { Recording } from "./recording";
import { termsOf } from "./terms";
import { type Words, english } from "./words";

/** How far a factor may be from the exponential of a difference: a few ulp of float32. */
const ROUNDING = 1e-5;

/** Return m, d, the factor and what was watched; of one block, or of all. */
export function series(recording: Recording, block?: number, words: Words = english): Series {
  const lines = (label: Watch["label"]): Line[] =>
    recording.run.watches
      .filter((one) => one.label === label)
      .map((one) => ({ name: one.name, line: one.line, points: pointsOf(recording, one, block) }))
      .filter((one) => one.points.length > 0);
  const m = lines("m");
  const d = lines("d");
  const factor = lines("factor").map((one) => ({
    ...one,
    points: one.points.map((point) => beadOf(recording, m, d, point, words)),
  }));
  return { m, d, factor, user: lines("user") };
}

/** Return the values that were taken in recorded steps. */
function pointsOf(recording: Recording, watch: Watch, block: number | undefined): Point[] {
  const found: Point[] = [];
  watch.step.forEach((number, place) => {
    const step = recording.indexOf(number);
    if (step < 0 || recording.columns.number[step] !== number) return;
    if (block !== undefined && watch.block[place] !== block) return;
    found.push({
      step,
      block: watch.block[place]!,
      warp: watch.warp[place]!,
      lane: watch.lane[place]!,
      value: numberOf(watch.value[place]!),
    });
  });
  return found;
}

function beadOf(
  recording: Recording, m: readonly Line[], d: readonly Line[], point: Point, words: Words,
): Bead {
  const factor = short(point.value);
  const [before, after] = pairFor(maximaAt(recording, m, point), point.value) ?? [null, null];
  const known = before !== null && after !== null;
  return {
    ...point,
    before,
    after,
    idle: point.value === 1,
    label: known ? words.bead(short(before), short(after), factor) : words.bareBead(factor),
    // Counting terms takes a while, and few sentences are ever read.
    get sentence() {
      return sentenceOf(recording, d, { ...point, before, after }, words);
    },
  };
}

type Correction = Point & Pick<Bead, "before" | "after">;

function sentenceOf(
  recording: Recording, d: readonly Line[], correction: Correction, words: Words,
): string {
  const { value, before, after } = correction;
  if (Number.isNaN(value)) return words.nothing;
  if (before === null || after === null) return words.multiplied(short(value));
  if (value === 1) return words.stays(short(after));
  if (before === -Infinity) return words.empty;
  const terms = termsBefore(recording, d, correction);
  return terms === null
    ? words.corrected(short(before), short(after))
    : words.correctedTerms(terms, short(before), short(after));
}

/** Return how many terms the d that is corrected has, null where that cannot be told. */
function termsBefore(
  recording: Recording, d: readonly Line[], { step, block, warp, lane }: Correction,
): number | null {
  const last = d
    .flatMap((one) => one.points)
    .filter((one) => one.step < step && one.block === block)
    .filter((one) => one.warp === warp && one.lane === lane)
    .reduce<Point | null>((late, one) => (one.step > (late?.step ?? -1) ? one : late), null);
  return last === null ? null : (termsOf(recording, last)?.cells.length ?? null);
}

/**
 * Return what variables that hold maxima have in the lane of a factor, and what each of them takes
 * next, which is often why d is corrected.
 */
function maximaAt(recording: Recording, maxima: readonly Line[], point: Point): number[] {
  return maxima.flatMap(({ name, points }) => {
    const held = [point.step, point.step - 1]
      .map((step) => recording.state(step).register(point, name))
      .filter((one) => one !== undefined)
      .filter(({ set }) => (set >>> point.lane) & 1)
      .map(({ values }) => Number(values[point.lane]));
    const ours = points.filter((one) => one.block === point.block);
    const seen = ours.findLast((one) => one.step <= point.step);
    const next = ours.find(
      (one) => one.step > point.step && one.warp === point.warp && one.lane === point.lane,
    );
    // What is no register is in shared memory, where the last one to change it counts.
    const now = held.length > 0 || seen === undefined ? held : [seen.value];
    return [...new Set(next === undefined ? now : [...now, next.value])];
  });
}

/**
 * Return the two maxima whose difference gives a factor. Which variables stand in the exponent is
 * not in the recording, so they are found by their values, and not at all if none fit.
 */
function pairFor(values: readonly number[], factor: number): readonly [number, number] | null {
  for (const [place, after] of values.entries()) {
    for (const [other, before] of values.entries()) {
      // A difference of 0 takes two variables with one value.
      if (place === other || (before === after) !== (factor === 1)) continue;
      if (factor === 1 || near(Math.exp(before - after), factor, ROUNDING)) return [before, after];
    }
  }
  return null;
}
