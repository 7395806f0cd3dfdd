// The picture of one kernel: three canvases on top of each other, and nothing else that would be a
// layer of its own, so that cells stay while ribbons move.
import { type Extent, type Recording, type Request, exchange, extentOf, requests } from "../../model";
import { t } from "../../strings";
import { type Palette, palette } from "../colours";
import type { Seen } from "../seen";
import type { Shown } from "../state";
import { CellPainter } from "./cells";
import { paintMarks } from "./marks";
import { COLUMNS, type Window, linesOf } from "./contents";
import type { Plan, Plot } from "./plan";
import { paintBands, paintNames, paintRows, paintTitles } from "./names";
import { hasRibbons, paintRibbons } from "./ribbons";

/** How long a ribbon takes at speed 1, in milliseconds. */
const MOTION = 180;

/** How a kernel is looked at. */
export interface View {
  readonly lane: number;
  readonly shown: Shown | null;
  /** Room for names beside the grid. */
  readonly gutter: number;
  readonly moving: boolean;
  readonly speed: number;
}

export class Stage {
  /** Bands and ribbons; the cells and all that stays with them; what a step touches. */
  readonly #under: CanvasRenderingContext2D;
  readonly #middle: CanvasRenderingContext2D;
  readonly #over: CanvasRenderingContext2D;
  #cells = new CellPainter();
  readonly #windows = new Map<number, Window>();
  #plan: Plan | null = null;
  #ratio = 0;
  #frame = 0;
  #step = -2;
  #block = -1;
  /** Which block it is, of how many threads. */
  #whose = "";
  /** What the step in view asks for: it is followed first, then drawn. */
  #asked: { seen: Seen; at: number; all: readonly Request[] } | null = null;
  #drawn: readonly unknown[] = [];
  #behind: readonly unknown[] = [];

  constructor(readonly host: HTMLElement) {
    this.#under = contextIn(host, "under", { alpha: false });
    this.#middle = contextIn(host, "cells");
    this.#over = contextIn(host, "over");
  }

  /** Whether nothing was drawn yet. */
  get blank(): boolean {
    return this.#plan === null;
  }

  /** Part of each buffer that is on view. */
  get windows(): ReadonlyMap<number, Window> {
    return this.#windows;
  }

  /** Move what is on view to what the playhead touches; true where that changed. */
  follow(seen: Seen): boolean {
    let changed = false;
    if (seen.block !== this.#block) {
      // Another block has rows of its own, whether or not it has touched them.
      this.#block = seen.block;
      changed = this.#windows.size > 0;
      this.#windows.clear();
    }
    for (const request of this.#requests(seen)) {
      if (request.buffer.space === "global") changed = this.#follow(request) || changed;
    }
    return changed;
  }

  #requests(seen: Seen): readonly Request[] {
    const { at, recording } = seen;
    if (this.#asked?.seen !== seen || this.#asked.at !== at) {
      this.#asked = { seen, at, all: at < 0 ? [] : requests(recording, at) };
    }
    return this.#asked.all;
  }

  #follow(request: Request): boolean {
    const { buffer, cells } = request;
    const inRow = cells.filter((one) => !request.strays.includes(one));
    const [low] = inRow.length > 0 ? inRow : cells;
    if (low === undefined) return false;
    const length = buffer.rowCells || buffer.cells;
    const row = Math.floor(low / length);
    const line = Math.floor((low - row * length) / COLUMNS);
    const { shown, all } = linesOf(buffer);
    const first = Math.min(Math.max(0, all - shown), Math.floor(line / shown) * shown);
    const old = this.#windows.get(buffer.index);
    if (old && old.row === row && line >= old.line && line < old.line + shown) return false;
    this.#windows.set(buffer.index, { row, line: first });
    return true;
  }

  /**
   * Draw a kernel, unless it stands as it stood; ribbons run in where the move was a small one and
   * motion is wanted.
   */
  draw(seen: Seen, plan: Plan, view: View): void {
    const colours = palette();
    const { recording, at, block } = seen;
    const now = [seen, at, plan, colours, view.lane, view.shown, devicePixelRatio];
    if (now.every((one, index) => one === this.#drawn[index])) return;
    this.#drawn = now;
    this.#fit(plan);
    const state = recording.state(at);
    const all = this.#requests(seen);
    const extents = ({ buffer, variable }: Plot): Extent =>
      extentOf(recording, buffer?.space ?? "register", buffer?.name ?? variable);
    const whose = shapeOf(recording, block);
    const drawing = this.#cells.paint(this.#middle, plan, colours, state, block, extents);
    if (drawing === "rows") paintRows(this.#middle, plan, colours, view.gutter);
    if (drawing === "all") {
      paintNames(this.#middle, plan, colours, view.gutter);
      this.#whose = "";
    }
    if (whose !== this.#whose) paintTitles(this.#middle, plan, colours, whose);
    this.#whose = whose;
    paintMarks(this.#over, plan, colours, {
      step: seen.step,
      requests: all,
      exchange: at < 0 ? undefined : exchange(recording, at),
      state,
      block,
      warps: recording.warps,
      lane: view.lane,
      shown: view.shown,
    });
    const fresh = at !== this.#step;
    this.#step = at;
    cancelAnimationFrame(this.#frame);
    // Where no ribbon was and none comes, what lies behind the cells stays.
    const behind = hasRibbons(plan, all) ? [] : [plan, colours];
    const stays = behind.length > 0 && behind.every((one, index) => one === this.#behind[index]);
    this.#behind = behind;
    if (stays) return;
    const run = (progress: number): void => {
      paintBands(this.#under, plan, colours);
      paintRibbons(this.#under, plan, colours, all, progress);
    };
    if (!(fresh && view.moving && all.length > 0)) run(1);
    else this.#animate(run, MOTION / view.speed);
  }

  #animate(run: (progress: number) => void, length: number): void {
    const start = performance.now();
    const tick = (now: number): void => {
      const part = Math.max(0, Math.min(1, (now - start) / length));
      run(1 - (1 - part) ** 3);
      if (part < 1) this.#frame = requestAnimationFrame(tick);
    };
    tick(start);
  }

  #fit(plan: Plan): void {
    const ratio = window.devicePixelRatio || 1;
    const old = this.#plan;
    this.#plan = plan;
    if (old && ratio === this.#ratio && old.width === plan.width && old.height === plan.height)
      return;
    this.#ratio = ratio;
    this.#cells = new CellPainter(); // a canvas of another size is empty
    this.#behind = [];
    this.host.style.height = `${plan.height}px`;
    for (const context of [this.#under, this.#middle, this.#over]) {
      const { canvas } = context;
      canvas.width = Math.round(plan.width * ratio);
      canvas.height = Math.round(plan.height * ratio);
      canvas.style.width = `${plan.width}px`;
      canvas.style.height = `${plan.height}px`;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
  }

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    this.host.replaceChildren();
  }
}

function contextIn(
  host: HTMLElement, name: string, settings?: CanvasRenderingContext2DSettings,
): CanvasRenderingContext2D {
  const canvas = document.createElement("canvas");
  canvas.className = name;
  host.append(canvas);
  const context = canvas.getContext("2d", settings);
  if (context === null) throw new Error("this browser draws no canvas");
  return context;
}

function shapeOf({ run }: Recording, block: number): string {
  const blocks = run.launch.grid.reduce((all, extent) => all * extent, 1);
  return t.machine.threads(block, blocks, run.launch.block);
}

export function measure(names: readonly string[], colours: Palette, most: number): number {
  const context = document.createElement("canvas").getContext("2d");
  if (context === null) return most;
  context.font = `${10.5 * (colours.rem / 16)}px ${colours.mono}`;
  const widest = Math.max(0, ...names.map((name) => context.measureText(name).width));
  return Math.ceil(Math.min(most, widest + colours.rem));
}
