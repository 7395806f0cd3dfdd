// Where everything of the machine stands. All bands share one grid of 32 columns: 32 lanes of a
// warp, 32 banks of shared memory, 128 bytes of global memory. So a coalesced request falls
// straight down, and anything else is seen to be bent.
import type { Buffer } from "../../model";
import type { Band } from "../colours";
import { COLUMNS, type Contents, linesOf } from "./contents";

/** Single numbers side by side, and the room that one has with its name, in rem. */
const MOST_SCALARS = 3;
const SCALAR_ROOM = 4.75;

export interface Plot {
  readonly band: Band;
  readonly label: string;
  readonly buffer: Buffer | null;
  /** The variable, for registers. */
  readonly variable: string;
  readonly warp: number;
  readonly first: number;
  readonly count: number;
  /** Cells behind these belong to the next row. */
  readonly own: number;
  readonly passes: number;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  readonly pitch: number;
  /** A number with its name behind it. */
  readonly scalar: boolean;
  /** Whether more of the row is not shown. */
  readonly partial: boolean;
}

export interface BandPlan {
  readonly band: Band;
  readonly top: number;
  readonly bottom: number;
}

export interface Plan {
  readonly width: number;
  readonly height: number;
  /** Left edge and width of the grid. */
  readonly x: number;
  readonly w: number;
  /** Single numbers side by side. */
  readonly scalars: number;
  readonly bands: readonly BandPlan[];
  readonly plots: readonly Plot[];
  /** Where the lanes of each warp begin. */
  readonly warps: ReadonlyMap<number, { readonly top: number; readonly bottom: number }>;
}

interface Sizes {
  readonly unit: number;
  readonly scalars: number;
  readonly x: number;
  readonly w: number;
}

/** Place what is shown in columns of one width; bands of all columns stand at the same height. */
export function plans(
  all: readonly (Contents & { readonly passes: number })[],
  width: number,
  rem: number,
  gutter: number,
  ratio: number,
): Plan[] {
  const unit = rem / 16;
  const edge = 6 * unit;
  const w = Math.floor(((width - gutter - edge) / COLUMNS) * ratio) / ratio;
  const grid = Math.max(4, w);
  const across = Math.floor((grid * COLUMNS) / (SCALAR_ROOM * rem));
  const scalars = Math.max(1, Math.min(MOST_SCALARS, across));
  const sizes: Sizes = { unit, scalars, x: Math.round(gutter), w: grid };
  const parts = all.map((one) => [
    globalPart(one, sizes),
    sharedPart(one, sizes),
    registerPart(one, sizes),
  ]);
  const heights = [0, 1, 2].map((band) => Math.max(...parts.map((one) => one[band]!.height)));
  const names: readonly Band[] = ["hbm", "sram", "register"];
  const gaps = [0, 36 * unit, 46 * unit];
  return parts.map((three) => {
    let top = 0;
    const bands: BandPlan[] = [];
    const plots: Plot[] = [];
    const warps = new Map<number, { top: number; bottom: number }>();
    three.forEach((part, index) => {
      top += gaps[index]!;
      plots.push(...part.plots.map((plot) => ({ ...plot, y: plot.y + top })));
      for (const [warp, box] of part.warps) {
        warps.set(warp, { top: box.top + top, bottom: box.bottom + top });
      }
      bands.push({ band: names[index]!, top, bottom: top + heights[index]! });
      top += heights[index]!;
    });
    const { x, w: cell } = sizes;
    return { width, height: top, x, w: cell * COLUMNS, scalars, bands, plots, warps };
  });
}

interface Part {
  readonly height: number;
  readonly plots: readonly Plot[];
  readonly warps: ReadonlyMap<number, { readonly top: number; readonly bottom: number }>;
}

const NO_WARPS = new Map<number, { top: number; bottom: number }>();

const HEAD = 24;
const FOOT = 10;

function globalPart(contents: Contents & { passes: number }, sizes: Sizes): Part {
  const { unit, x, w } = sizes;
  const h = Math.round(Math.max(7 * unit, Math.min(w * 0.9, 12 * unit)));
  let y = HEAD * unit;
  const plots = contents.global.map(({ buffer, window }): Plot => {
    const passes = buffer.role === "output" ? 0 : contents.passes;
    const pitch = Math.round(h + (passes > 0 ? (passes * 3 + 3) * unit : 2 * unit));
    const { shown, all } = linesOf(buffer);
    const row = buffer.rowCells || buffer.cells;
    const first = window.row * row + window.line * COLUMNS;
    const count = Math.min(shown * COLUMNS, buffer.cells - first);
    const own = Math.min(count, window.row * row + row - first);
    const partial = all > shown;
    const plot = {
      band: "hbm" as const,
      label: buffer.name,
      buffer,
      variable: "",
      warp: 0,
      first,
      count,
      own,
      passes,
      x,
      y,
      w,
      h,
      pitch,
      scalar: false,
      partial,
    };
    y += shown * pitch + 8 * unit;
    return plot;
  });
  return { height: y + (FOOT - 8) * unit, plots, warps: NO_WARPS };
}

function sharedPart(contents: Contents, sizes: Sizes): Part {
  const { unit, scalars, x, w } = sizes;
  const h = Math.round(Math.max(8 * unit, Math.min(w * 0.95, 15 * unit)));
  let y = HEAD * unit;
  const base = {
    band: "sram" as const,
    variable: "",
    warp: 0,
    first: 0,
    passes: 0,
    w,
    h,
    pitch: h,
  };
  const plots: Plot[] = contents.arrays.slice(0, 6).map((buffer) => {
    const lines = Math.min(4, Math.ceil(buffer.cells / COLUMNS));
    const count = Math.min(buffer.cells, lines * COLUMNS);
    const partial = count < buffer.cells;
    const plot = {
      ...base,
      label: buffer.name,
      buffer,
      count,
      own: count,
      x,
      y,
      scalar: false,
      partial,
    };
    y += lines * h + 9 * unit;
    return plot;
  });
  contents.scalars.forEach((buffer, index) => {
    const place = index % scalars;
    if (place === 0) y += 3 * unit;
    const left = x + Math.floor((place * COLUMNS) / scalars) * w;
    const shape = { w: Math.max(w, Math.round(15 * unit)), h: Math.max(h, Math.round(11 * unit)) };
    plots.push({
      ...base,
      ...shape,
      label: buffer.name,
      buffer,
      count: 1,
      own: 1,
      x: left,
      y,
      scalar: true,
      partial: false,
    });
    if (place === scalars - 1 || index === contents.scalars.length - 1)
      y += shape.h + 6 * unit;
  });
  return { height: y + (FOOT - 6) * unit, plots, warps: NO_WARPS };
}

function registerPart(contents: Contents, sizes: Sizes): Part {
  const { unit, x, w } = sizes;
  const h = Math.round(Math.max(10 * unit, Math.min(w * 0.95, 15 * unit)));
  let y = HEAD * unit;
  const plots: Plot[] = [];
  const warps = new Map<number, { top: number; bottom: number }>();
  for (const warp of contents.warps) {
    const top = y;
    y += 15 * unit;
    for (const variable of contents.variables) {
      plots.push({
        band: "register",
        label: variable,
        buffer: null,
        variable,
        warp,
        first: 0,
        count: COLUMNS,
        own: COLUMNS,
        passes: 0,
        x,
        y,
        w,
        h,
        pitch: h,
        scalar: false,
        partial: false,
      });
      y += h + Math.round(unit);
    }
    warps.set(warp, { top, bottom: y });
    y += 7 * unit;
  }
  return { height: y + (FOOT - 7) * unit, plots, warps };
}

/** Whether all cells of a plan stand where those of another one stand, whatever they are of. */
export function fits(one: Plan, other: Plan): boolean {
  return alike(one, other, ["label", "count", "own", "passes", "x", "y", "w", "h", "pitch"]);
}

/** Whether two plans of one recording are the same. */
export function isSame(one: Plan, other: Plan): boolean {
  return fits(one, other) && alike(one, other, ["first", "warp"]);
}

function alike(one: Plan, other: Plan, parts: readonly (keyof Plot)[]): boolean {
  const { width, bands, plots } = one;
  return (
    width === other.width &&
    bands.every(({ bottom }, index) => bottom === other.bands[index]?.bottom) &&
    plots.length === other.plots.length &&
    plots.every((plot, index) => parts.every((part) => plot[part] === other.plots[index]![part]))
  );
}

/** Return the left and the upper edge of a cell of a plot, counted from its first. */
export function corner(plot: Plot, index: number): readonly [number, number] {
  const line = Math.floor(index / COLUMNS);
  return [plot.x + (index - line * COLUMNS) * plot.w, plot.y + line * plot.pitch];
}

/** Return the plot and the cell at a point, null where there is none. */
export function hit(plan: Plan, x: number, y: number): { plot: Plot; index: number } | null {
  for (const plot of plan.plots) {
    const column = Math.floor((x - plot.x) / plot.w);
    const line = Math.floor((y - plot.y) / plot.pitch);
    if (column < 0 || column >= COLUMNS || line < 0) continue;
    const index = line * COLUMNS + column;
    if (index < plot.count && y - plot.y - line * plot.pitch <= plot.h) return { plot, index };
  }
  return null;
}
