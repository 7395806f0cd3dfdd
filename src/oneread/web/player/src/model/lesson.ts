/**
 * The seven steps of the argument with the numbers of a row that was read, each tied to a step of
 * the recording. Where the kernel's own m, d and factor were watched, the numbers are those; else
 * they follow from the row by definition.
 */

import type { Bead, LessonId, LessonStep, Point } from "./answers";
import { countUpTo, near } from "./numbers";
import { mainBuffer, mainPasses } from "./passes";
import type { Recording } from "./recording";
import { requests } from "./requests";
import { series } from "./series";
import { ROUNDING, inputAt, summed, termsOf } from "./terms";
import type { Pass, Register, Tile } from "./types";

/** The largest x whose exponential is a float32. */
const EXP_LIMIT = Math.log(3.4028234663852886e38);

type Values = Readonly<Record<string, number>>;

/**
 * Return the steps of the argument for the first row of a block, by default of the first that was
 * recorded; none for a kernel that reads no rows or takes no exponentials.
 */
export function lesson(recording: Recording, block = recording.blocks[0]): LessonStep[] {
  const row = block === undefined ? null : rowOf(recording, block);
  if (row === null || recording.run.counts.lane_exps === 0) return [];
  const { d, factor } = series(recording, block);
  const beads = factor.flatMap((one) => one.points).sort(byStep);
  const sums = d.flatMap((one) => one.points).sort(byStep);
  return [
    subtract(row),
    definition(recording, row, sums),
    split(recording, row, beads, sums),
    stays(row, beads),
    tiles(recording, row),
    early(row),
    fused(recording, row),
  ];
}

/** A row, and how the block went through it. */
interface Row {
  readonly cells: readonly number[];
  readonly values: readonly number[];
  readonly maximum: number;
  readonly sum: number;
  /** Passes of the warp that read it first. */
  readonly passes: readonly Pass[];
  /** Step that first read each element. */
  readonly read: ReadonlyMap<number, number>;
}

function rowOf(recording: Recording, block: number): Row | null {
  const main = mainBuffer(recording);
  const { vocab, rows } = recording.run.launch;
  const passes = mainPasses(recording).filter((one) => one.block === block);
  const first = passes[0];
  if (main === undefined || first === undefined || main.cells !== rows * vocab) return null;
  if (recording.machine.before(main) === undefined) return null;
  const start = first.tiles[0]!.low - (first.tiles[0]!.low % vocab);
  const cells = Array.from({ length: vocab }, (_, column) => start + column);
  const { maximum, sum } = summed(recording, cells);
  return {
    cells,
    values: cells.map((cell) => inputAt(recording, cell)),
    maximum,
    sum,
    passes: passes.filter((one) => one.warp === first.warp),
    read: readsOf(recording, block, cells),
  };
}

/** Return when each cell of the main buffer was first read by a block. */
function readsOf(
  recording: Recording, block: number, cells: readonly number[],
): Map<number, number> {
  const loads = recording.machine.loads(mainBuffer(recording)!);
  const { columns } = recording;
  const found = new Map<number, number>();
  for (const cell of cells) {
    const [from, to] = loads.entries(cell);
    for (let entry = from; entry < to; entry++) {
      const step = columns.step[loads.event(entry)]!;
      if (columns.block[step] === block) {
        found.set(cell, step);
        break;
      }
    }
  }
  return found;
}

/** Why m is subtracted: exp(x) leaves float32 long before x is large. */
function subtract(row: Row): LessonStep {
  const place = row.values.indexOf(row.maximum);
  return step("subtract", row.read.get(row.cells[place]!) ?? null, {
    maximum: row.maximum,
    naive: Math.fround(Math.exp(row.maximum)),
    shifted: Math.exp(row.maximum - row.maximum),
    limit: EXP_LIMIT,
    beyond: Math.fround(Math.exp(100)),
  });
}

/** d by definition, against the maximum so far. */
function definition(recording: Recording, row: Row, sums: readonly Point[]): LessonStep {
  for (const point of sums) {
    const terms = termsOf(recording, point);
    if (terms === null || terms.cells.length < 2) continue;
    const { cells, maximum, sum } = terms;
    return step("definition", point.step, {
      terms: cells.length, maximum, sum, kernel_sum: point.value,
    });
  }
  return whole(recording, row);
}

/** The same of the whole row, where a register holds its sum when the first output is stored. */
function whole(recording: Recording, row: Row): LessonStep {
  const stored = firstStore(recording, row);
  const held = stored === null ? [] : recording.state(stored).registers(row.passes[0]!);
  const d = held.find((one) => one.type === "float" && isSum(one, row.sum));
  if (d === undefined) return step("definition", null, {});
  return step("definition", d.step, {
    terms: row.cells.length,
    maximum: row.maximum,
    sum: row.sum,
    kernel_sum: Number(d.values[0]),
  });
}

function isSum({ values, set, uniform }: Register, sum: number): boolean {
  return uniform && (set & 1) === 1 && near(Number(values[0]), sum, ROUNDING);
}

/** The last term split off, the rest rewritten: where the maximum rose. */
function split(
  recording: Recording, row: Row, beads: readonly Bead[], sums: readonly Point[],
): LessonStep {
  for (const bead of beads) {
    if (bead.idle || bead.before === null || bead.after === null) continue;
    if (!Number.isFinite(bead.before)) continue;
    const ours = sums.filter((one) => one.warp === bead.warp && one.lane === bead.lane);
    const old = ours.findLast((one) => one.step < bead.step);
    const now = ours.find((one) => one.step >= bead.step);
    if (old === undefined || now === undefined) continue;
    return step("split", bead.step, {
      before: bead.before,
      after: bead.after,
      factor: bead.value,
      old_sum: old.value,
      rescaled: old.value * bead.value,
      new_terms: now.value - old.value * bead.value,
      new_sum: now.value,
    });
  }
  return rise(recording, row);
}

/** The same by definition: where the maximum of the row rises first. */
function rise(recording: Recording, row: Row): LessonStep {
  const before = row.values[0]!;
  const column = row.values.findIndex((value) => value > before);
  if (column < 0) return step("split", null, {});
  const after = row.values[column]!;
  const old = summed(recording, row.cells.slice(0, column));
  const factor = Math.exp(before - after);
  return step("split", row.read.get(row.cells[column]!) ?? null, {
    before,
    after,
    factor,
    old_sum: old.sum,
    rescaled: old.sum * factor,
    new_terms: 1,
    new_sum: old.sum * factor + 1,
  });
}

/** The factor is 1 where the maximum stays. */
function stays(row: Row, beads: readonly Bead[]): LessonStep {
  const idle = beads.find((one) => one.idle && one.after !== null);
  if (idle !== undefined) {
    return step("stays", idle.step, { maximum: idle.after!, factor: idle.value });
  }
  let maximum = row.values[0]!;
  for (const [column, value] of row.values.entries()) {
    if (column > 0 && value <= maximum) {
      return step("stays", row.read.get(row.cells[column]!) ?? null, { maximum, factor: 1 });
    }
    maximum = Math.max(maximum, value);
  }
  return step("stays", null, { factor: 1 });
}

/** A tile at a time: one factor for all that came before, one sum for the tile. */
function tiles(recording: Recording, row: Row): LessonStep {
  const rounds = row.passes[0]!.tiles.map((one) => cellsOf(row, one));
  const seen: number[] = [];
  for (const [index, cells] of rounds.entries()) {
    if (index > 0 && seen.length > 0 && cells.length > 0) {
      const old = summed(recording, seen);
      const now = summed(recording, [...seen, ...cells]);
      if (now.maximum > old.maximum || index === rounds.length - 1) {
        const factor = Math.exp(old.maximum - now.maximum);
        return step("tiles", row.passes[0]!.tiles[index]!.first, {
          tile: index + 1,
          size: cells.length,
          before: old.maximum,
          after: now.maximum,
          factor,
          old_sum: old.sum,
          tile_sum: now.sum - old.sum * factor,
          new_sum: now.sum,
        });
      }
    }
    seen.push(...cells);
  }
  return step("tiles", null, {});
}

/** Return the cells of a row that the block reads first in a tile. */
function cellsOf(row: Row, tile: Tile): number[] {
  return row.cells.filter((cell) => {
    const read = row.read.get(cell);
    return read !== undefined && read >= tile.first && read <= tile.last;
  });
}

/** A second pass cannot start early: the last element may still raise the maximum. */
function early(row: Row): LessonStep {
  const place = row.values.indexOf(row.maximum);
  const before = row.values.slice(0, place).reduce((most, one) => Math.max(most, one), -Infinity);
  const second = row.passes.find((one) => one.number === 2);
  return step("early", second?.first ?? null, {
    column: place,
    columns: row.values.length,
    before,
    maximum: row.maximum,
  });
}

/** The output pass cannot be fused: an early y has the maximum and the sum of a part only. */
function fused(recording: Recording, row: Row): LessonStep {
  const tile = cellsOf(row, row.passes[0]!.tiles[0]!);
  // A row of one tile has no part but its first element.
  const part = summed(recording, tile.length < row.cells.length ? tile : row.cells.slice(0, 1));
  const x = row.values[0]!;
  return step("fused", firstStore(recording, row), {
    x,
    part: part.cells.length,
    part_maximum: part.maximum,
    part_sum: part.sum,
    too_early: Math.exp(x - part.maximum) / part.sum,
    maximum: row.maximum,
    sum: row.sum,
    right: Math.exp(x - row.maximum) / row.sum,
  });
}

/** Return the first step of a row's passes that stores to global memory. */
function firstStore(recording: Recording, row: Row): number | null {
  const pass = row.passes.find((one) => one.stores > 0);
  if (pass === undefined) return null;
  const steps = recording.machine.stepsOf(pass);
  const ours = steps.subarray(countUpTo(steps, pass.first - 1), countUpTo(steps, pass.last));
  const found = ours.find((index) =>
    requests(recording, index).some((one) => one.kind !== "load" && one.buffer.space === "global"),
  );
  return found ?? null;
}

function step(id: LessonId, index: number | null, values: Values): LessonStep {
  return { id, step: index, values };
}

function byStep(one: Point, other: Point): number {
  return one.step - other.step;
}
