// The canvases of one kernel: three on top of each other, so that cells stay while ribbons move.
import { type Extent, type Recording, type Request, exchange, extentOf, requests } from "../../model";
import { t } from "../../strings";
import { type Palette, palette } from "../colours";
import type { Seen } from "../seen";
import type { Shown } from "../state";
import { CellPainter } from "./cells";
import { paintMarks } from "./marks";
import { COLUMNS, type Window, linesOf } from "./contents";
import type { Plan, Plot } from "./plan";
import { paintNames } from "./names";
import { paintRibbons } from "./ribbons";

/** How long a ribbon takes at speed 1, in milliseconds. */
const MOTION = 180;

const BANDS = ["hbm", "sram", "register"] as const;
const LAYERS = ["under", "cells", "over"] as const;

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
  readonly #contexts: CanvasRenderingContext2D[];
  readonly #cells = new CellPainter();
  readonly #windows = new Map<number, Window>();
  #plan: Plan | null = null;
  #ratio = 0;
  #frame = 0;
  #step = -2;
  #block = -1;

  readonly #bands: HTMLElement[];
  /** Over the canvases, so that no ribbon covers them. */
  readonly #titles: HTMLElement[];
  /** Which block it is, of how many threads. */
  readonly #shape = document.createElement("span");
  #asked = 0;
  #drawn: readonly unknown[] = [];

  constructor(readonly host: HTMLElement) {
    const boxes = (kind: string): HTMLElement[] =>
      BANDS.map((band) => {
        const box = document.createElement("div");
        box.className = `${kind} ${band}`;
        host.append(box);
        return box;
      });
    this.#bands = boxes("band");
    this.#contexts = LAYERS.map((name) => {
      const canvas = document.createElement("canvas");
      canvas.className = `layer ${name}`;
      host.append(canvas);
      const context = canvas.getContext("2d");
      if (context === null) throw new Error("this browser draws no canvas");
      return context;
    });
    this.#titles = boxes("band-title");
    BANDS.forEach((band, index) => {
      const name = document.createElement("b");
      name.textContent = t.bands[band].name;
      this.#titles[index]!.append(name, t.bands[band].about);
      if (band === "register") this.#titles[index]!.append(this.#shape);
    });
  }

  get plan(): Plan | null {
    return this.#plan;
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
    const all = seen.at < 0 ? [] : requests(seen.recording, seen.at);
    for (const request of all) {
      if (request.buffer.space === "global") changed = this.#show(request) || changed;
    }
    return changed;
  }

  #show(request: Request): boolean {
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
    this.#plan = plan;
    this.#shape.textContent = shapeOf(recording, block);
    const state = recording.state(at);
    const all = at < 0 ? [] : requests(recording, at);
    const [under, cells, over] = this.#contexts as [
      CanvasRenderingContext2D,
      CanvasRenderingContext2D,
      CanvasRenderingContext2D,
    ];
    const extents = ({ buffer, variable }: Plot): Extent =>
      extentOf(recording, buffer?.space ?? "register", buffer?.name ?? variable);
    if (this.#cells.paint(cells, plan, colours, state, block, extents)) {
      paintNames(cells, plan, colours, view.gutter);
    }
    paintMarks(over, plan, colours, {
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
    if (all.length === 0 && this.#asked === 0) return; // no ribbon before, none now
    this.#asked = all.length;
    const run = (progress: number): void => paintRibbons(under, plan, colours, all, progress);
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
    if (plan !== this.#plan) {
      plan.bands.forEach(({ top, bottom }, index) => {
        const { style } = this.#bands[index]!;
        style.top = `${top}px`;
        style.height = `${bottom - top}px`;
        this.#titles[index]!.style.top = style.top;
      });
    }
    const ratio = window.devicePixelRatio || 1;
    const old = this.#plan;
    if (old && ratio === this.#ratio && old.width === plan.width && old.height === plan.height)
      return;
    this.#ratio = ratio;
    this.host.style.height = `${plan.height}px`;
    for (const context of this.#contexts) {
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
