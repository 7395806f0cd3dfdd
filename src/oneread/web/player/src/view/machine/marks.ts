// What lies before the cells: outlines of what a step touches, arcs, barriers, remarks.
import type { Exchange, Request, State, Step } from "../../model";
import { t } from "../../strings";
import type { Palette } from "../colours";
import type { Shown } from "../state";
import { arcs, bits, placesOf } from "./flows";
import { COLUMNS } from "./contents";
import { type Plan, type Plot, corner } from "./plan";
import { troubled } from "./ribbons";

export interface Marked {
  readonly step: Step | undefined;
  readonly requests: readonly Request[];
  readonly exchange: Exchange | undefined;
  readonly state: State;
  readonly block: number;
  readonly warps: number;
  readonly lane: number;
  readonly shown: Shown | null;
}

export function paintMarks(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  marked: Marked,
): void {
  context.clearRect(0, 0, plan.width, plan.height);
  statuses(context, plan, palette, marked);
  lanes(context, plan, palette, marked);
  for (const request of marked.requests) outlines(context, plan, palette, request);
  drawArcs(context, plan, palette, marked);
  fault(context, plan, palette, marked);
  barrier(context, plan, palette, marked);
  pills(context, plan, palette, marked.requests);
}

function statuses(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  { state, block, step }: Marked,
): void {
  const unit = palette.rem / 16;
  context.textBaseline = "middle";
  const waiting = state.waiting(block);
  for (const [warp, { top }] of plan.warps) {
    const here = step?.warp === warp && step.block === block;
    const last = state.last({ block, warp });
    const stands = waiting?.warps.includes(warp) ?? false;
    context.textAlign = "left";
    context.font = `${here ? 650 : 400} ${10 * unit}px ${palette.sans}`;
    context.fillStyle = here ? palette.activity : palette.soft;
    context.fillText(
      t.machine.warp(warp, last?.line, stands, here),
      plan.x,
      top + 7 * unit,
      plan.w,
    );
  }
}

/** Dim the lanes that take no part; mark the one whose values are told. */
function lanes(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  { step, block, lane }: Marked,
): void {
  const w = plan.w / COLUMNS;
  const unit = palette.rem / 16;
  for (const [warp, { top, bottom }] of plan.warps) {
    if (!step || step.warp !== warp || step.block !== block) continue;
    const active = new Set(bits(step.lanes));
    context.fillStyle = palette.registerWash;
    context.globalAlpha = 0.72;
    for (let one = 0; one < COLUMNS; one++) {
      if (!active.has(one))
        context.fillRect(plan.x + one * w, top + 14 * unit, w, bottom - top - 14 * unit);
    }
    context.globalAlpha = 1;
    context.fillStyle = palette.activityMark;
    for (const one of active) {
      context.fillRect(plan.x + one * w, top + 13 * unit, w - 1, 2 * unit);
    }
    context.strokeStyle = palette.ink;
    context.lineWidth = 1;
    context.strokeRect(plan.x + lane * w - 1, top + 14.5 * unit, w + 1, bottom - top - 15 * unit);
  }
}

function outlines(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  request: Request,
): void {
  const bad = troubled(request);
  const stray = new Set(request.strays);
  const unit = palette.rem / 16;
  const seen = new Set<string>();
  placesOf(plan, request).forEach((place, index) => {
    if (!place) return;
    const [plot, cell] = place;
    const [x, y] = corner(plot, cell);
    const key = `${x} ${y}`;
    if (seen.has(key)) return;
    seen.add(key);
    const wrong = bad && (stray.size === 0 || stray.has(request.cells[index] ?? -1));
    context.strokeStyle = wrong ? palette.fault : palette.activityMark;
    context.lineWidth = 1.5 * unit;
    context.strokeRect(x - 0.5, y - 0.5, plot.w, plot.h);
    if (request.kind !== "load") {
      // A write has a double outline.
      context.strokeStyle = palette.surface;
      context.lineWidth = unit;
      context.strokeRect(
        x + 0.75 * unit,
        y + 0.75 * unit,
        plot.w - 2.5 * unit,
        plot.h - 2.5 * unit,
      );
    }
  });
}

function drawArcs(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  { requests, exchange, step }: Marked,
): void {
  context.lineWidth = 1.25 * (palette.rem / 16);
  context.strokeStyle = palette.sram;
  for (const { from, to } of arcs(plan, requests)) arc(context, from, to, palette.rem);
  const warp = step && plan.warps.get(step.warp);
  if (!exchange?.sources || !warp || !step) return;
  context.strokeStyle = palette.register;
  const w = plan.w / COLUMNS;
  const y = warp.top + 14 * (palette.rem / 16);
  exchange.sources.forEach((source, lane) => {
    if (source === lane || source < 0 || !((step.lanes >>> lane) & 1)) return;
    arc(context, [plan.x + (source + 0.5) * w, y], [plan.x + (lane + 0.5) * w, y], palette.rem);
  });
}

function arc(
  context: CanvasRenderingContext2D,
  from: readonly [number, number],
  to: readonly [number, number],
  rem: number,
): void {
  const rise = Math.min(rem * 0.8, 4 + Math.abs(to[0] - from[0]) * 0.2);
  context.globalAlpha = 0.75;
  context.beginPath();
  context.moveTo(...from);
  context.bezierCurveTo(from[0], from[1] - rise, to[0], to[1] - rise, ...to);
  context.stroke();
  context.globalAlpha = 1;
  context.beginPath();
  context.arc(to[0], to[1], rem / 10, 0, 2 * Math.PI);
  context.fillStyle = context.strokeStyle;
  context.fill();
}

/** Circle the cell that two threads fight for. */
function fault(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  { shown }: Marked,
): void {
  if (!shown || shown.fault.buffer === null || shown.fault.index === null) return;
  const { buffer, index } = shown.fault;
  const per = (plot: Plot): number => plot.buffer?.types.length ?? 1;
  const plot = plan.plots.find(
    (one) =>
      one.buffer?.name === buffer &&
      index * per(one) >= one.first &&
      index * per(one) < one.first + one.count,
  );
  if (!plot) return;
  const [x, y] = corner(plot, index * per(plot) - plot.first);
  const r = Math.max(plot.w, plot.h) * 0.95;
  context.strokeStyle = palette.fault;
  context.lineWidth = palette.rem / 8;
  context.beginPath();
  context.arc(x + plot.w / 2, y + plot.h / 2, r, 0, 2 * Math.PI);
  context.stroke();
}

/** A line across all warps that fills as they arrive. */
function barrier(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  { state, block, warps }: Marked,
): void {
  const waiting = state.waiting(block);
  const band = plan.bands[2];
  if (!waiting || !band) return;
  const unit = palette.rem / 16;
  const y = band.top - 7 * unit;
  const part = plan.w / warps;
  for (let warp = 0; warp < warps; warp++) {
    const here = waiting.warps.includes(warp);
    context.fillStyle = here ? palette.ink : palette.line;
    context.fillRect(plan.x + warp * part, y, part - 2 * unit, 4 * unit);
  }
  context.font = `${10 * unit}px ${palette.sans}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = palette.ink;
  const text = t.machine.barrier(waiting.line, waiting.warps.length, warps);
  // Over ribbons words need a ground.
  const width = Math.min(plan.w, context.measureText(text).width);
  context.fillStyle = palette.surface;
  context.fillRect(plan.x + plan.w - width - 4 * unit, y - 15 * unit, width + 4 * unit, 14 * unit);
  context.fillStyle = palette.ink;
  context.fillText(text, plan.x + plan.w, y - 8 * unit, plan.w);
}

/** Say what the requests ask for, between the bands that they cross. */
function pills(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  requests: readonly Request[],
): void {
  const unit = palette.rem / 16;
  for (const [space, band] of [
    ["global", 0],
    ["shared", 1],
  ] as const) {
    const these = requests.filter((one) => one.buffer.space === space);
    const [one] = these;
    const above = plan.bands[band];
    const below = plan.bands[band + 1];
    if (!one || !above || !below) continue;
    const bad = these.some(troubled);
    const text = t.machine.request(one, these.length);
    context.font = `550 ${10.5 * unit}px ${palette.sans}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    const width = Math.min(plan.width - 8 * unit, context.measureText(text).width + 18 * unit);
    const x = Math.max(width / 2 + 4 * unit, Math.min(plan.x + plan.w / 2, plan.width - width / 2));
    const y = above.bottom + (space === "global" ? 18 : 12) * unit;
    context.beginPath();
    context.roundRect(x - width / 2, y - 10 * unit, width, 20 * unit, 10 * unit);
    context.fillStyle = bad ? palette.faultWash : palette.surface;
    context.fill();
    context.strokeStyle = bad ? palette.fault : palette[space === "global" ? "hbm" : "sram"];
    context.lineWidth = unit;
    context.stroke();
    context.fillStyle = bad ? palette.fault : palette.ink;
    context.fillText(text, x, y + 0.5, width - 12 * unit);
  }
}
