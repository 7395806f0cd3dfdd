// The timeline as pictures: of the part in view what each warp did when, with passes and tiles as
// brackets and faults as flags; and of the whole run a strip of the same. They are drawn when what
// is shown or the room for it changes; the playhead is no part of them.
import { t } from "../../strings";
import type { Palette } from "../colours";
import type { Seen } from "../seen";
import { type Stretch, stretches } from "../stretches";
import { type Axis, type Span, WHOLE } from "./axis";
import { Kind, kindsOf } from "./kinds";

export interface Track {
  readonly seen: Seen;
  readonly label: string;
  readonly focus: boolean;
}

export interface Size {
  readonly width: number;
  readonly left: number;
  readonly right: number;
}

const MOST_WARPS = 4;

/** Height of a kernel in the strip, in rem. */
const STRIP = 0.34;

/** What draws a track, and where. */
interface Brush {
  readonly context: CanvasRenderingContext2D;
  readonly palette: Palette;
  /** A sixteenth of a rem. */
  readonly unit: number;
  readonly top: number;
  readonly height: number;
  /** Left and right edge of what is in view. */
  readonly edges: readonly [number, number];
  x(step: number): number;
}

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

export function paintTracks(
  context: CanvasRenderingContext2D,
  tracks: readonly Track[],
  axis: Axis,
  span: Span,
  size: Size,
  palette: Palette,
): void {
  const height = heightOf(tracks) * palette.rem;
  context.clearRect(0, 0, size.width, height * Math.max(1, tracks.length));
  tracks.forEach((track, index) => {
    const brush = brushOf(context, track, axis, span, size, palette, [index * height, height]);
    clipped(brush, () => {
      if (axis.kind === "steps") warps(brush, track.seen);
      else kernel(brush, track.seen);
      flags(brush, track.seen);
    });
    name(brush, track, size);
  });
}

/** Draw the whole run in little: passes, tiles, faults. */
export function paintStrip(
  context: CanvasRenderingContext2D,
  tracks: readonly Track[],
  axis: Axis,
  size: Size,
  palette: Palette,
): void {
  const height = STRIP * palette.rem;
  const head = 0.4 * palette.rem;
  context.clearRect(0, 0, size.width, stripOf(tracks) * palette.rem);
  tracks.forEach((track, index) => {
    const place = [head + index * height, height - palette.rem / 16] as const;
    const brush = brushOf(context, track, axis, WHOLE, size, palette, place);
    bars(brush, track.seen);
    marks(brush, track.seen, head);
  });
}

function brushOf(
  context: CanvasRenderingContext2D,
  { seen }: Track,
  axis: Axis,
  { from, to }: Span,
  { width, left, right }: Size,
  palette: Palette,
  [top, height]: readonly [number, number],
): Brush {
  const scale = (width - left - right) / (to - from);
  return {
    context,
    palette,
    unit: palette.rem / 16,
    top,
    height,
    edges: [left, width - right],
    x: (step) => left + (axis.of(seen, step) / axis.end - from) * scale,
  };
}

function clipped({ context, edges, top, height, unit }: Brush, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(edges[0] - 5 * unit, top, edges[1] - edges[0] + 10 * unit, height);
  context.clip();
  draw();
  context.restore();
}

function isInView({ edges }: Brush, from: number, to: number): boolean {
  return to >= edges[0] && from <= edges[1];
}

function name({ context, palette, top, height }: Brush, track: Track, { left }: Size): void {
  const { label, focus } = track;
  if (!label) return;
  context.font = `${focus ? 650 : 400} ${palette.rem * 0.66}px ${palette.mono}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = focus ? palette.ink : palette.soft;
  context.fillText(label, left - palette.rem * 0.5, top + height / 2 + 1, left - palette.rem * 0.6);
}

/** A kernel among others: its passes, one after another, for the bytes that they move. */
function kernel(brush: Brush, seen: Seen): void {
  const { unit, top, height } = brush;
  const inner = { ...brush, top: top + 6 * unit, height: height - 9 * unit };
  for (const [stretch, from, to] of bars(inner, seen)) {
    title(inner, stretch, from, to);
  }
}

/** Draw passes as bars, cut at their tiles; return them with their edges. */
function bars(brush: Brush, seen: Seen): (readonly [Stretch, number, number])[] {
  const { context, palette, unit, top, height, x } = brush;
  const [start, end] = [x(-1), x(seen.recording.length - 1)];
  context.fillStyle = palette.hbmWash;
  context.fillRect(start, top, end - start, height);
  const drawn: (readonly [Stretch, number, number])[] = [];
  const all = stretches(seen.recording);
  for (const [index, stretch] of all.entries()) {
    // Warps of a block go on to their next pass at different times.
    const next = all[index + 1];
    const from = x(stretch.first - 1);
    const to = Math.min(x(stretch.last), next ? x(next.first - 1) : Infinity);
    if (!isInView(brush, from, to)) continue;
    context.fillStyle = palette.ramps.hbm[shadeOf(stretch)] ?? palette.hbm;
    context.fillRect(from, top, Math.max(1, to - from - unit), height);
    const room = (to - from) / stretch.tiles.length;
    context.fillStyle = palette.surface;
    context.globalAlpha = 0.55;
    if (room >= 5 * unit) {
      for (const tile of stretch.tiles.slice(1)) {
        context.fillRect(x(tile.step - 1) - unit / 2, top, unit, height);
      }
    }
    context.globalAlpha = 1;
    drawn.push([stretch, from, to]);
  }
  return drawn;
}

function shadeOf({ number }: Stretch): number {
  return Math.min(60, 10 + number * 13);
}

/** Name a pass; and its tiles, where there is room for that. */
function title(brush: Brush, stretch: Stretch, from: number, to: number): void {
  const { context, palette, unit, top, height, edges, x } = brush;
  const start = Math.max(from, edges[0]);
  if (to - start < 16 * unit) return;
  context.font = `600 ${palette.rem * 0.6}px ${palette.sans}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = palette.text[shadeOf(stretch) >= palette.turn ? 1 : 0];
  const y = top + height / 2 + 0.5;
  const text = to - start > 52 * unit ? t.deck.passOf(stretch.number) : String(stretch.number);
  context.fillText(text, start + 4 * unit, y);
  const free = start + 12 * unit + context.measureText(text).width;
  context.font = `${palette.rem * 0.6}px ${palette.sans}`;
  const at = (step: number): number => x(step - 1);
  numbers(brush, stretch, { at, free, end: to, y });
}

interface Room {
  at(step: number): number;
  /** From where there is room. */
  readonly free: number;
  readonly end: number;
  readonly y: number;
}

/** Name the tiles that have room for it, behind their beginnings. */
function numbers({ context, unit, edges }: Brush, { tiles }: Stretch, room: Room): void {
  tiles.forEach(({ tile, step }, index) => {
    const left = room.at(step) + 4 * unit;
    const next = tiles[index + 1];
    const right = next ? room.at(next.step) : room.end;
    const text = t.deck.tileOf(tile);
    if (left < room.free || left > edges[1]) return;
    if (left + context.measureText(text).width < right) context.fillText(text, left, room.y);
  });
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
  for (const stretch of stretches(seen.recording)) {
    const { number, first, last, tiles } = stretch;
    const [from, to] = [x(first), x(last)];
    if (!isInView(brush, from, to)) continue;
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
    if (to - start < 14 * unit) continue;
    const text = to - start > 44 * unit ? t.deck.passOf(number) : String(number);
    context.fillText(text, start + 3 * unit, y - 5 * unit);
    const free = start + 8 * unit + context.measureText(text).width;
    numbers(brush, stretch, { at: x, free, end: to, y: y - 5 * unit });
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
