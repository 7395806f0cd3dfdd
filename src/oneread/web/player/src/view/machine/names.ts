// The bands with their titles, and the names of buffers and variables beside what they hold.
import { t } from "../../strings";
import type { Palette } from "../colours";
import type { Plan } from "./plan";

/** Draw the bands, behind everything. */
export function paintBands(
  context: CanvasRenderingContext2D, plan: Plan, palette: Palette,
): void {
  const width = plan.width + 1; // the last pixel of the canvas may be half a pixel of the page
  context.fillStyle = palette.surface;
  context.fillRect(0, 0, width, plan.height + 1);
  for (const { band, top, bottom } of plan.bands) {
    context.fillStyle = palette[`${band}Wash`];
    context.fillRect(0, top, width, bottom - top);
    context.fillStyle = palette[`${band}Line`];
    context.fillRect(0, top, width, 1);
    context.fillRect(0, bottom - 1, width, 1);
  }
}

/** Draw what the bands are; of the registers also whose they are. */
export function paintTitles(
  context: CanvasRenderingContext2D, plan: Plan, palette: Palette, whose: string,
): void {
  const unit = palette.rem / 16;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { band, top } of plan.bands) {
    const y = top + 13.5 * unit;
    context.clearRect(0, top + 2 * unit, plan.width, 20 * unit);
    context.font = `650 ${11 * unit}px ${palette.sans}`;
    context.fillStyle = palette[band];
    const { name, about } = t.bands[band];
    context.fillText(name, 10 * unit, y);
    const left = 17 * unit + context.measureText(name).width;
    context.font = `400 ${11 * unit}px ${palette.sans}`;
    context.fillStyle = palette.soft;
    context.fillText(band === "register" ? whose : about, left, y, plan.width - left);
  }
}

/** Draw the names of all plots beside them: they stay until cells have other places. */
export function paintNames(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  gutter: number,
): void {
  const unit = palette.rem / 16;
  context.textBaseline = "middle";
  for (const plot of plan.plots) {
    if (plot.band === "hbm") continue;
    const middle = plot.y + plot.h / 2;
    context.font = `${10.5 * unit}px ${palette.mono}`;
    context.fillStyle = palette.ink;
    context.textAlign = plot.scalar ? "left" : "right";
    if (plot.scalar) {
      const room = plan.w / plan.scalars - plot.w - 8 * unit;
      context.fillText(fit(context, plot.label, room), plot.x + plot.w + 4 * unit, middle);
    } else {
      context.fillText(fit(context, plot.label, gutter - 8 * unit), plot.x - 5 * unit, middle);
    }
  }
  paintRows(context, plan, palette, gutter);
}

/** Draw the names of buffers in global memory, each with the row that is in view. */
export function paintRows(
  context: CanvasRenderingContext2D,
  plan: Plan,
  palette: Palette,
  gutter: number,
): void {
  const unit = palette.rem / 16;
  const band = plan.bands[0];
  if (band) {
    const top = band.top + 22 * unit;
    context.clearRect(0, top, plan.x - unit, band.bottom - top);
  }
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const plot of plan.plots) {
    if (plot.band !== "hbm") continue;
    const middle = plot.y + plot.h / 2;
    const x = plot.x - 5 * unit;
    context.font = `${10.5 * unit}px ${palette.mono}`;
    context.fillStyle = palette.ink;
    context.fillText(fit(context, plot.label, gutter - 8 * unit), x, middle);
    if (!plot.buffer || plot.buffer.rowCells === 0) continue;
    context.font = `${9.5 * unit}px ${palette.sans}`;
    context.fillStyle = palette.soft;
    const row = Math.floor(plot.first / plot.buffer.rowCells);
    context.fillText(t.machine.row(row), x, middle + 12 * unit, gutter);
    if (!plot.partial) continue;
    const from = plot.first - row * plot.buffer.rowCells;
    context.fillText(t.machine.from(from), x, middle + 24 * unit, gutter);
  }
}

/** Cut a name in its middle where it is too long. */
export function fit(context: CanvasRenderingContext2D, name: string, width: number): string {
  if (context.measureText(name).width <= width) return name;
  for (let keep = name.length - 1; keep > 2; keep--) {
    const head = Math.ceil(keep / 2);
    const cut = `${name.slice(0, head)}…${name.slice(name.length - (keep - head))}`;
    if (context.measureText(cut).width <= width) return cut;
  }
  return name.slice(0, 2);
}
