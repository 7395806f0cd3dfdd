// What the pictures of the timeline are drawn with.
import type { Palette } from "../colours";
import type { Seen } from "../seen";
import type { Axis, Span } from "./axis";

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

/** What is drawn, and the room for it. */
export interface Scene {
  readonly context: CanvasRenderingContext2D;
  readonly tracks: readonly Track[];
  readonly axis: Axis;
  readonly size: Size;
  readonly palette: Palette;
}

/** What draws a track, and where. */
export interface Brush {
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

export function brushOf(
  { context, axis, size, palette }: Scene,
  { seen }: Track,
  { from, to }: Span,
  [top, height]: readonly [number, number],
): Brush {
  const { width, left, right } = size;
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

/** Draw within the track, and a bit beside its ends. */
export function clipped({ context, edges, top, height, unit }: Brush, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(edges[0] - 5 * unit, top, edges[1] - edges[0] + 10 * unit, height);
  context.clip();
  draw();
  context.restore();
}

export function isInView({ edges }: Brush, from: number, to: number): boolean {
  return to >= edges[0] && from <= edges[1];
}
