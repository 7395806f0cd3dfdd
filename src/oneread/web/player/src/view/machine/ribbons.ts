// What lies behind the cells: a ribbon for each request of a step.
import type { Request } from "../../model";
import type { Palette } from "../colours";
import { hatch } from "./cells";
import { type Flow, arcs, flows } from "./flows";
import type { Plan } from "./plan";

/** How far a ribbon has come: 0 at its source, 1 when it has arrived. */
export type Progress = number;

/** Whether a request is one that a teacher would point at. */
export function troubled(request: Request): boolean {
  return (
    request.strays.length > 0 ||
    request.conflicts.length > 0 ||
    request.faults.some((one) => one.severity !== "note")
  );
}

/** Whether a step has ribbons at all. */
export function hasRibbons(plan: Plan, all: readonly Request[]): boolean {
  return ribboned(plan, all).length > 0;
}

/** Requests that are ribbons: a reduction is drawn as arcs within its array. */
function ribboned(plan: Plan, all: readonly Request[]): readonly Request[] {
  if (arcs(plan, all).length === 0) return all;
  return all.filter((one) => one.buffer.space !== "shared" || one.kind === "atomic");
}

export function paintRibbons(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  all: readonly Request[],
  progress: Progress,
): void {
  for (const request of ribboned(plan, all)) {
    const bad = troubled(request);
    const band = request.buffer.space === "global" ? "hbm" : "sram";
    const colour = bad ? palette.fault : palette[band];
    const up = request.kind === "store";
    const all = flows(plan, request);
    for (const flow of all) ribbon(context, flow, colour, up, progress, all.length);
    if (bad && progress === 1) {
      const pattern = hatch(context, palette.fault, palette.rem);
      if (pattern) for (const flow of all) shape(context, flow, 1, up, pattern);
    }
  }
}

function ribbon(
  context: CanvasRenderingContext2D,
  flow: Flow,
  colour: string,
  up: boolean,
  progress: Progress,
  many: number,
): void {
  const [from, to] = [flow.cellBottom, flow.laneTop];
  const paint = context.createLinearGradient(0, from, 0, to);
  const [strong, weak] = many > 8 ? [0.5, 0.3] : [0.26, 0.12];
  paint.addColorStop(0, faded(colour, up ? weak : strong));
  paint.addColorStop(1, faded(colour, up ? strong : weak));
  shape(context, flow, progress, up, paint);
  if (!flow.wide) {
    context.strokeStyle = faded(colour, 0.8);
    context.lineWidth = 1;
    context.stroke();
  }
}

/** Fill a ribbon as far as it has come. */
function shape(
  context: CanvasRenderingContext2D,
  flow: Flow,
  progress: Progress,
  up: boolean,
  paint: string | CanvasGradient | CanvasPattern,
): void {
  const { cells, lanes, cellBottom, laneTop } = flow;
  const bend = (laneTop - cellBottom) / 2;
  context.save();
  if (progress < 1) {
    const reach = (laneTop - cellBottom) * progress;
    context.beginPath();
    context.rect(-1e4, up ? laneTop - reach : cellBottom, 2e4, reach);
    context.clip();
  }
  context.beginPath();
  context.moveTo(cells[0], cellBottom);
  context.bezierCurveTo(cells[0], cellBottom + bend, lanes[0], laneTop - bend, lanes[0], laneTop);
  context.lineTo(lanes[1], laneTop);
  context.bezierCurveTo(
    lanes[1],
    laneTop - bend,
    cells[1],
    cellBottom + bend,
    cells[1],
    cellBottom,
  );
  context.closePath();
  context.fillStyle = paint;
  context.fill();
  context.restore();
}

const known = new Map<string, string>();

/** Return a colour of the style sheet with an opacity. */
function faded(colour: string, opacity: number): string {
  const key = `${colour} ${opacity}`;
  let found = known.get(key);
  if (found === undefined) {
    found = `color-mix(in srgb, ${colour} ${Math.round(opacity * 100)}%, transparent)`;
    known.set(key, found);
  }
  return found;
}
