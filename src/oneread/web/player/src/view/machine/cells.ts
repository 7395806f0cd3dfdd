// The cells of all bands, drawn on a canvas that keeps them: a frame draws only what changed.
import type { Extent, State, Value } from "../../model";
import { type Palette, shade } from "../colours";
import { COLUMNS } from "./contents";
import { type Plan, type Plot, corner, fits } from "./plan";

/** What is drawn of a plot: numbers, which are set, and how often each was read. */
interface Drawn {
  readonly values: Float64Array;
  readonly set: Uint8Array;
  /** Bit p: read in pass p + 1. */
  readonly reads: Uint32Array;
}

export type Extents = (plot: Plot) => Extent;

/** How much of a picture was drawn anew: cells, also the rows that they are of, or all. */
export type Drawing = "cells" | "rows" | "all";

/** Draws the cells of one machine. */
export class CellPainter {
  #drawn: (Drawn | null)[] = [];
  #plan: Plan | null = null;
  #palette: Palette | null = null;
  #unset: CanvasPattern | null = null;

  /** Draw what differs in the state; all of it where cells have other places, or other colours. */
  paint(
    context: CanvasRenderingContext2D,
    plan: Plan,
    palette: Palette,
    state: State,
    block: number,
    extents: Extents,
  ): Drawing {
    const drawing = this.#begin(context, plan, palette);
    plan.plots.forEach((plot, index) => {
      const now = read(plot, state, block);
      const before = this.#drawn[index] ?? null;
      const extent = extents(plot);
      for (let cell = 0; cell < plot.count; cell++) {
        if (before && same(before, now, cell)) continue;
        this.#cell(context, plot, cell, now, extent, palette);
      }
      this.#drawn[index] = now;
    });
    return drawing;
  }

  #begin(context: CanvasRenderingContext2D, plan: Plan, palette: Palette): Drawing {
    const old = this.#plan;
    if (plan === old && palette === this.#palette) return "cells";
    this.#plan = plan;
    if (old && palette === this.#palette && fits(plan, old)) return "rows";
    context.clearRect(0, 0, plan.width, plan.height);
    this.#drawn = [];
    this.#palette = palette;
    this.#unset = hatch(context, palette.firm, palette.rem, [palette.surface, palette.none]);
    return "all";
  }

  #cell(
    context: CanvasRenderingContext2D,
    plot: Plot,
    cell: number,
    now: Drawn,
    extent: Extent,
    palette: Palette,
  ): void {
    const [x, y] = corner(plot, cell);
    const [w, h] = [plot.w - 1, plot.h - 1];
    const unit = palette.rem / 16;
    context.clearRect(x - 0.5, y - 0.5, plot.w, plot.h + plot.passes * 3 * unit + 0.5);
    context.globalAlpha = cell < plot.own ? 1 : 0.4;
    if (now.set[cell]) {
      this.#value(context, plot, [x, y, w, h], now.values[cell] ?? NaN, extent, palette);
    } else {
      context.fillStyle = this.#unset ?? palette.none;
      context.fillRect(x, y, w, h);
    }
    this.#passes(context, plot, x, y, now.reads[cell] ?? 0, palette);
    context.globalAlpha = 1;
  }

  #value(
    context: CanvasRenderingContext2D,
    plot: Plot,
    [x, y, w, h]: readonly [number, number, number, number],
    value: number,
    [low, high]: Extent,
    palette: Palette,
  ): void {
    if (!Number.isFinite(value)) {
      glyph(context, [x, y, w, h], value, palette);
      return;
    }
    const step = shade(value, low, high);
    context.fillStyle = palette.ramps[plot.band][step] ?? palette.none;
    context.fillRect(x, y, w, h);
    const room = palette.rem * 1.25;
    if (w < room || h < palette.rem * 0.62) return;
    context.fillStyle = palette.text[step >= palette.turn ? 1 : 0];
    context.font = `${Math.min(h - 2, palette.rem * 0.53)}px ${palette.mono}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(brief(value, w < 1.7 * palette.rem), x + w / 2, y + h / 2 + 0.5, w - 2);
  }

  #passes(
    context: CanvasRenderingContext2D,
    plot: Plot,
    x: number,
    y: number,
    reads: number,
    palette: Palette,
  ): void {
    const unit = palette.rem / 16;
    for (let pass = 0; pass < plot.passes; pass++) {
      context.fillStyle = (reads >>> pass) & 1 ? palette.hbm : palette.hbmLine;
      const top = y + plot.h + unit + pass * 3 * unit;
      context.globalAlpha = (reads >>> pass) & 1 ? 1 : 0.55;
      context.fillRect(x, top, plot.w - 1, 2 * unit);
    }
  }
}

function same(before: Drawn, now: Drawn, cell: number): boolean {
  return (
    before.set[cell] === now.set[cell] &&
    before.reads[cell] === now.reads[cell] &&
    Object.is(before.values[cell], now.values[cell])
  );
}

function read(plot: Plot, state: State, block: number): Drawn {
  const { count } = plot;
  if (plot.buffer === null) return registers(plot, state, block);
  const cells = state.cells(plot.buffer, plot.first, count, { block });
  const reads = new Uint32Array(count);
  if (plot.passes > 0) {
    state.readsByPass(plot.buffer, plot.first, count).forEach((read, pass) => {
      for (let cell = 0; cell < count; cell++) if (read[cell]) reads[cell]! |= 1 << pass;
    });
  }
  return { values: cells.values, set: cells.set, reads };
}

function registers(plot: Plot, state: State, block: number): Drawn {
  const values = new Float64Array(COLUMNS);
  const set = new Uint8Array(COLUMNS);
  const register = state.register({ block, warp: plot.warp }, plot.variable);
  if (register) {
    for (let lane = 0; lane < COLUMNS; lane++) {
      set[lane] = (register.set >>> lane) & 1;
      values[lane] = Number(register.values[register.values.length === 1 ? 0 : lane] ?? NaN);
    }
  }
  return { values, set, reads: new Uint32Array(COLUMNS) };
}

/** Draw a value that is no number: a point down for -inf, up for inf, a cross for NaN. */
function glyph(
  context: CanvasRenderingContext2D,
  [x, y, w, h]: readonly [number, number, number, number],
  value: number,
  palette: Palette,
): void {
  const bad = Number.isNaN(value);
  context.fillStyle = bad ? palette.faultWash : palette.none;
  context.fillRect(x, y, w, h);
  context.strokeStyle = bad ? palette.fault : palette.soft;
  context.lineWidth = Math.max(1, palette.rem / 13);
  const [cx, cy] = [x + w / 2, y + h / 2];
  const r = Math.min(w, h) * 0.28;
  context.beginPath();
  if (bad) {
    context.moveTo(cx - r, cy - r);
    context.lineTo(cx + r, cy + r);
    context.moveTo(cx + r, cy - r);
    context.lineTo(cx - r, cy + r);
  } else {
    const up = value > 0 ? -1 : 1;
    context.moveTo(cx - r, cy - (up * r) / 2);
    context.lineTo(cx, cy + (up * r) / 2);
    context.lineTo(cx + r, cy - (up * r) / 2);
  }
  context.stroke();
}

/** Thin lines that say: nothing was stored here. Over a ground with a tint, where one is given. */
export function hatch(
  context: CanvasRenderingContext2D,
  colour: string,
  rem: number,
  ground: readonly [string, string] | null = null,
): CanvasPattern | null {
  const size = Math.max(4, Math.round(rem / 4));
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const brush = tile.getContext("2d");
  if (brush === null) return null;
  for (const [index, paint] of ground?.entries() ?? []) {
    brush.globalAlpha = index === 0 ? 1 : 0.35;
    brush.fillStyle = paint;
    brush.fillRect(0, 0, size, size);
  }
  brush.strokeStyle = colour;
  brush.globalAlpha = 0.38;
  brush.lineWidth = 1;
  brush.beginPath();
  for (const shift of [-size, 0, size]) {
    brush.moveTo(shift, size);
    brush.lineTo(shift + size, 0);
  }
  brush.stroke();
  return context.createPattern(tile, "repeat");
}

/** A number in few signs, for a cell. */
export function brief(value: Value, short = false): string {
  const number = Number(value);
  const size = Math.abs(number);
  if (Number.isInteger(number) && size < 1000) return String(number).replace("-", "−");
  if (size !== 0 && (size < 0.005 || size >= 1000)) {
    return number.toExponential(0).replace("e+", "e").replace("-", "−");
  }
  const digits =
    size >= 100 || (short && size >= 10) ? 0 : size >= 10 || (short && size >= 1) ? 1 : 2;
  return number
    .toFixed(digits)
    .replace(/^(-?)0\./, "$1.")
    .replace("-", "−");
}
