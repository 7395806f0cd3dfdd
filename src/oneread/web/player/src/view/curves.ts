// m, d and the corrections of one thread. Where they are variables, every lane has its own: the
// trace names the first lane of each change, and the registers have the others.
import { type Bead, type Line, type Point, type Recording, english, series, short } from "../model";

/** What the chart shows of one thread, or of a block that has one m for all. */
export interface Curve {
  readonly thread: { readonly block: number; readonly warp: number; readonly lane: number };
  readonly m: { readonly name: string; readonly points: readonly Point[] } | null;
  readonly d: { readonly name: string; readonly points: readonly Point[] } | null;
  readonly beads: readonly Bead[];
}

/** Return the curve of a lane; of the one that has most to correct where none is asked for. */
export function curveOf(recording: Recording, block: number, lane: number | null): Curve {
  const all = series(recording, block);
  const corrections = all.factor.flatMap((one) => one.points);
  const d = widest(all.d);
  const m = widest(corrected(all.m, corrections));
  const main = m ?? d;
  const points = main?.points ?? [];
  const warp = points.reduce((least, one) => Math.min(least, one.warp), Infinity);
  const thread = { block, warp: Number.isFinite(warp) ? warp : 0, lane: lane ?? 0 };
  if (main === null) return { thread, m: null, d: null, beads: [] };
  const own = recording.variables.includes(main.name);
  const first = Math.min(...points.filter((one) => one.warp === warp).map((one) => one.lane));
  thread.lane = own ? (lane ?? busiest(recording, main, warp)) : first;
  const mine = m && { name: m.name, points: pointsOf(recording, m, thread) };
  const sums = d && { name: d.name, points: pointsOf(recording, d, thread) };
  return {
    thread,
    m: mine,
    d: sums,
    beads: beadsOf(recording, corrections, mine?.points ?? [], thread),
  };
}

/** Those that take most of the maxima that corrections lead to: others are scratch of a tree. */
function corrected(lines: readonly Line[], factors: readonly Bead[]): readonly Line[] {
  const wanted = new Set(factors.filter((one) => !one.idle).map((one) => one.after));
  const counts = lines.map(({ points }) => {
    const taken = new Set(points.map((one) => one.value));
    return [...wanted].filter((value) => value !== null && taken.has(value)).length;
  });
  const most = Math.max(0, ...counts);
  return lines.filter((_, at) => counts[at] === most);
}

/** The line that changes most: the running value itself rather than a copy of its last one. */
function widest(lines: readonly Line[]): Line | null {
  let best: Line | null = null;
  let most = 0;
  for (const line of lines) {
    const moves = new Set(line.points.map((one) => one.value)).size;
    if (moves > most) [best, most] = [line, moves];
  }
  return best;
}

/** The lane in which a variable rises most often. */
function busiest(recording: Recording, line: Line, warp: number): number {
  const rises = new Array<number>(32).fill(0);
  const last = new Array<number>(32).fill(NaN);
  for (const point of line.points) {
    if (point.warp !== warp) continue;
    const register = recording.state(point.step).register(point, line.name);
    for (let lane = 0; lane < 32; lane++) {
      const value = register && (register.set >>> lane) & 1 ? Number(register.values[lane]) : NaN;
      if (value > last[lane]! && Number.isFinite(last[lane])) rises[lane]!++;
      if (!Number.isNaN(value)) last[lane] = value;
    }
  }
  return rises.indexOf(Math.max(...rises));
}

/** Every value that a line had in a thread. */
function pointsOf(recording: Recording, { name, points }: Line, thread: Curve["thread"]): Point[] {
  const { warp, lane } = thread;
  const mine = points.filter((one) => one.warp === warp);
  if (!recording.variables.includes(name)) return mine.filter((one) => one.lane === lane);
  const found: Point[] = [];
  for (const { step } of mine) {
    const register = recording.state(step).register(thread, name);
    if (!register || !((register.set >>> lane) & 1)) continue;
    const value = Number(register.values[lane]);
    if (!Object.is(found.at(-1)?.value, value)) found.push({ ...thread, step, value });
  }
  return found;
}

/** The corrections of a thread, without those that change nothing or start anew. */
function beadsOf(
  recording: Recording,
  all: readonly Bead[],
  m: readonly Point[],
  thread: Curve["thread"],
): Bead[] {
  const end = m.at(-1)?.step ?? -1;
  const found = all
    .filter((one) => one.warp === thread.warp && one.step <= end)
    .filter((one) => (recording.step(one.step).lanes >>> thread.lane) & 1)
    .map((one) => (one.lane === thread.lane ? one : another(one, m, thread.lane)))
    .filter((one) => one !== null && !one.idle && one.value !== 0);
  return (found as Bead[]).sort((a, b) => a.step - b.step);
}

/** The correction that another lane makes in the same step: from the maxima that it has. */
function another(bead: Bead, m: readonly Point[], lane: number): Bead | null {
  const next = m.findIndex((one) => one.step >= bead.step);
  const [before, after] = [m[next - 1]?.value, m[next]?.value];
  if (before === undefined || after === undefined || !(after > before)) return null;
  return correction({ ...bead, lane }, before, after);
}

function correction({ block, warp, lane, step }: Point, before: number, after: number): Bead {
  const value = Math.fround(Math.exp(before - after));
  const [old, now] = [short(before), short(after)];
  return {
    ...{ block, warp, lane, step, value, before, after },
    idle: false,
    label: english.bead(old, now, short(value)),
    sentence: english.corrected(old, now),
  };
}
