// The timeline as pictures: of the part in view what each warp did when, with passes and tiles as
// brackets and faults as flags; and of the whole run a strip of the same. They are drawn when what
// is shown or the room for it changes; the playhead is no part of them.
import { t } from "../../strings";
import type { Palette } from "../colours";
import type { Seen } from "../seen";
import { fit } from "../machine/names";
import { stretches } from "../stretches";
import { type Span, WHOLE } from "./axis";
import { bars, kernel, numbers } from "./bars";
import {
  type Brush,
  type Scene,
  type Size,
  type Track,
  brushOf,
  clipped,
  isInView,
} from "./brush";
import { Kind, kindsOf } from "./kinds";

const MOST_WARPS = 4;

/** Height of a kernel in the strip, in rem. */
const STRIP = 0.34;

/** Return the height of each track, in rem. */
export function heightOf(tracks: readonly Track[]): number {
  const [one] = tracks;
  if (tracks.length !== 1 || !one) return 1.25;
  return 1.05 + 0.7 * Math.min(MOST_WARPS, one.seen.recording.warps);
}

/** Return the height of the strip, in rem. */
export function stripOf(tracks: readonly Track[]): number {
  return 0.62 + STRIP * Math.max(1, tracks.length);
}

/** Draw a part of the run. */
export function paintTracks(scene: Scene, span: Span): void {
  const { context, tracks, axis, size, palette } = scene;
  const height = heightOf(tracks) * palette.rem;
  context.clearRect(0, 0, size.width, height * Math.max(1, tracks.length));
  tracks.forEach((track, index) => {
    const brush = brushOf(scene, track, span, [index * height, height]);
    clipped(brush, () => {
      if (axis.kind === "steps") warps(brush, track.seen);
      else kernel(brush, track.seen);
      flags(brush, track.seen);
    });
    name(brush, track, size);
  });
}

/** Draw the whole run in little: passes, tiles, faults. */
export function paintStrip(scene: Scene): void {
  const { context, tracks, size, palette } = scene;
  const height = STRIP * palette.rem;
  const head = 0.4 * palette.rem;
  context.clearRect(0, 0, size.width, stripOf(tracks) * palette.rem);
  tracks.forEach((track, index) => {
    const top = head + index * height;
    const brush = brushOf(scene, track, WHOLE, [top, height - palette.rem / 16]);
    bars(brush, track.seen);
    marks(brush, track.seen, head);
  });
}

function name({ context, palette, top, height }: Brush, track: Track, { left }: Size): void {
  const { label, focus } = track;
  if (!label) return;
  context.font = `${focus ? 650 : 400} ${palette.rem * 0.66}px ${palette.mono}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = focus ? palette.ink : palette.soft;
  const shown = fit(context, label, left - palette.rem * 0.6);
  context.fillText(shown, left - palette.rem * 0.5, top + height / 2 + 1);
}

const INSET: Record<Kind, number> = {
  [Kind.Compute]: 0.3,
  [Kind.Barrier]: 0.42,
  [Kind.Shared]: 0.14,
  [Kind.Load]: 0.05,
  [Kind.Store]: 0.05,
};

/** One kernel: a line for each warp, coloured by what it does. */
function warps(brush: Brush, seen: Seen): void {
  const { unit, top, height, edges, x } = brush;
  const { recording } = seen;
  const count = Math.min(MOST_WARPS, recording.warps);
  const head = 16 * unit;
  const lane = (height - head) / count;
  brackets(brush, seen, top + head - 4 * unit);
  const per = x(1) - x(0);
  const first = Math.max(0, Math.floor((edges[0] - x(0)) / per));
  const end = Math.min(recording.length, Math.ceil((edges[1] - x(0)) / per) + 1);
  const kinds = kindsOf(recording);
  const { warp } = recording.columns;
  const wide = Math.max(1, per >= 4 ? per - unit : per);
  // Of the steps on one pixel the one that counts most is drawn.
  const best = new Int16Array(count).fill(-1);
  const pixel = new Int32Array(count).fill(-1);
  const flush = (one: number): void => {
    if (best[one]! < 0) return;
    const kind = best[one] as Kind;
    const cut = lane * INSET[kind];
    brush.context.fillStyle = colourOf(brush.palette, kind);
    brush.context.fillRect(pixel[one]!, top + head + one * lane + cut, wide, lane - 2 * cut - unit);
  };
  for (let step = first; step < end; step++) {
    const one = warp[step]!;
    if (one >= count) continue;
    const at = Math.floor(x(step) - wide / 2);
    if (at !== pixel[one]) {
      flush(one);
      pixel[one] = at;
      best[one] = -1;
    }
    best[one] = Math.max(best[one]!, kinds[step]!);
  }
  for (let one = 0; one < count; one++) flush(one);
}

function colourOf(palette: Palette, kind: Kind): string {
  switch (kind) {
    case Kind.Compute:
      return palette.ramps.register[20] ?? palette.registerLine;
    case Kind.Barrier:
      return palette.firm;
    case Kind.Shared:
      return palette.sram;
    default:
      return palette.hbm;
  }
}

/** Passes over the lines of the warps, with a tick at each tile. */
function brackets(brush: Brush, seen: Seen, y: number): void {
  const { context, palette, unit, edges, x } = brush;
  context.strokeStyle = context.fillStyle = palette.hbm;
  context.lineWidth = unit;
  context.font = `${palette.rem * 0.6}px ${palette.sans}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const all = stretches(seen.recording);
  for (const [index, stretch] of all.entries()) {
    const { number, first, last, tiles } = stretch;
    const [from, to] = [x(first), x(last)];
    if (!isInView(brush, from, to)) continue;
    // Warps of a block go on to their next pass at different times: its name is to be read, too.
    const end = Math.min(to, x(all[index + 1]?.first ?? Infinity));
    const room = (to - from) / tiles.length;
    context.beginPath();
    context.moveTo(from, y + 3 * unit);
    context.lineTo(from, y);
    context.lineTo(to, y);
    context.lineTo(to, y + 3 * unit);
    for (const tile of room >= 5 * unit ? tiles.slice(1) : []) {
      context.moveTo(x(tile.step), y);
      context.lineTo(x(tile.step), y + 3 * unit);
    }
    context.stroke();
    const start = Math.max(from, edges[0]);
    if (end - start < 14 * unit) continue;
    const text = end - start > 44 * unit ? t.deck.passOf(number) : String(number);
    context.fillText(text, start + 3 * unit, y - 5 * unit);
    const free = start + 8 * unit + context.measureText(text).width;
    numbers(brush, stretch, { at: x, free, end, y: y - 5 * unit });
  }
}

/** A flag where a fault was seen first. */
function flags({ context, palette, unit, top, x }: Brush, seen: Seen): void {
  for (const { fault, step } of loud(seen)) {
    const at = x(step);
    context.fillStyle = fault.severity === "error" ? palette.fault : palette.activityMark;
    context.beginPath();
    context.moveTo(at, top + 9 * unit);
    context.lineTo(at - 4 * unit, top + unit);
    context.lineTo(at + 4 * unit, top + unit);
    context.closePath();
    context.fill();
    context.fillRect(at - 0.5 * unit, top + 7 * unit, unit, 10 * unit);
  }
}

/** The same in the strip. */
function marks({ context, palette, unit, top, height, x }: Brush, seen: Seen, head: number): void {
  for (const { fault, step } of loud(seen)) {
    const at = x(step);
    context.fillStyle = fault.severity === "error" ? palette.fault : palette.activityMark;
    context.fillRect(at - unit, top - 0.5 * unit, 2 * unit, height + unit);
    context.beginPath();
    context.arc(at, head / 2, 2 * unit, 0, 2 * Math.PI);
    context.fill();
  }
}

function loud(seen: Seen) {
  return seen.recording.findings.filter((one) => one.fault.severity !== "note");
}
