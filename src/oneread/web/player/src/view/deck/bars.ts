// Passes as bars, cut at their tiles: of several kernels in the timeline, of all in the strip.
import { t } from "../../strings";
import type { Seen } from "../seen";
import { type Stretch, stretches } from "../stretches";
import { type Brush, isInView } from "./brush";

/** A kernel among others: its passes, one after another, for the bytes that they move. */
export function kernel(brush: Brush, seen: Seen): void {
  const { unit, top, height } = brush;
  const inner = { ...brush, top: top + 6 * unit, height: height - 9 * unit };
  for (const [stretch, from, to] of bars(inner, seen)) {
    title(inner, stretch, from, to);
  }
}

/** Draw passes as bars, cut at their tiles; return them with their edges. */
export function bars(brush: Brush, seen: Seen): (readonly [Stretch, number, number])[] {
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
export function numbers({ context, unit, edges }: Brush, { tiles }: Stretch, room: Room): void {
  tiles.forEach(({ tile, step }, index) => {
    const left = room.at(step) + 4 * unit;
    const next = tiles[index + 1];
    const right = Math.min(room.end, next ? room.at(next.step) : Infinity);
    const text = t.deck.tileOf(tile);
    if (left < room.free || left > edges[1]) return;
    if (left + context.measureText(text).width < right) context.fillText(text, left, room.y);
  });
}
