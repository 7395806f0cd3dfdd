// The timeline as a picture: what each warp did when, passes as brackets, faults as flags. It is
// drawn when what is shown or the room for it changes; the playhead is no part of it.
import { t } from "../../strings";
import type { Palette } from "../colours";
import type { Seen } from "../seen";
import type { Axis } from "./axis";
import { Kind, kindsOf } from "./kinds";

export interface Track {
  readonly seen: Seen;
  readonly label: string;
  readonly focus: boolean;
}

const MOST_WARPS = 4;

export interface Size {
  readonly width: number;
  readonly left: number;
  readonly right: number;
}

/** Return the height of each track, in rem. */
export function heightOf(tracks: readonly Track[]): number {
  const [one] = tracks;
  if (tracks.length !== 1 || !one) return 1.25;
  return 1.05 + 0.7 * Math.min(MOST_WARPS, one.seen.recording.warps);
}

export function paintTracks(
  context: CanvasRenderingContext2D,
  tracks: readonly Track[],
  axis: Axis,
  size: Size,
  palette: Palette,
): void {
  const height = heightOf(tracks) * palette.rem;
  context.clearRect(0, 0, size.width, height * tracks.length);
  tracks.forEach((track, index) => {
    const top = index * height;
    const scale = (size.width - size.left - size.right) / axis.end;
    const x = (step: number): number => size.left + axis.of(track.seen, step) * scale;
    if (axis.kind === "steps") warps(context, track, x, top, height, palette);
    else kernel(context, track, x, top, height, palette);
    flags(context, track, x, top, palette);
    name(context, track, size, top, height, palette);
  });
}

function name(
  context: CanvasRenderingContext2D,
  { label, focus }: Track,
  { left }: Size,
  top: number,
  height: number,
  palette: Palette,
): void {
  if (!label) return;
  context.font = `${focus ? 650 : 400} ${palette.rem * 0.66}px ${palette.mono}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = focus ? palette.ink : palette.soft;
  context.fillText(label, left - palette.rem * 0.5, top + height / 2 + 1, left - palette.rem * 0.6);
}

/** A kernel among others: its passes, one after another, for the bytes that they move. */
function kernel(
  context: CanvasRenderingContext2D,
  { seen }: Track,
  x: (step: number) => number,
  top: number,
  height: number,
  palette: Palette,
): void {
  const unit = palette.rem / 16;
  const bar = { y: top + 6 * unit, h: height - 9 * unit };
  context.fillStyle = palette.hbmWash;
  context.fillRect(x(-1), bar.y, x(seen.recording.length - 1) - x(-1), bar.h);
  for (const part of stretches(seen)) {
    const [from, to] = [x(part.first - 1), x(part.last)];
    const shade = palette.ramps.hbm[Math.min(60, 10 + part.number * 13)];
    context.fillStyle = shade ?? palette.hbm;
    context.fillRect(from, bar.y, Math.max(1, to - from - unit), bar.h);
    if (to - from < 16 * unit) continue;
    context.font = `600 ${palette.rem * 0.6}px ${palette.sans}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = palette.text[10 + part.number * 13 >= palette.turn ? 1 : 0];
    const text = to - from > 52 * unit ? t.deck.passOf(part.number) : String(part.number);
    context.fillText(text, from + 4 * unit, bar.y + bar.h / 2 + 0.5);
  }
}

interface Stretch {
  readonly number: number;
  readonly first: number;
  readonly last: number;
}

/** Passes of each block, all of its warps together, in order. */
function stretches(seen: Seen): Stretch[] {
  const found = new Map<string, { number: number; first: number; last: number }>();
  for (const { block, number, first, last } of seen.passes) {
    const key = `${block} ${number}`;
    const one = found.get(key);
    if (!one) found.set(key, { number, first, last });
    else {
      one.first = Math.min(one.first, first);
      one.last = Math.max(one.last, last);
    }
  }
  return [...found.values()].sort((a, b) => a.first - b.first);
}

/** One kernel: a line for each warp, coloured by what it does. */
function warps(
  context: CanvasRenderingContext2D,
  { seen }: Track,
  x: (step: number) => number,
  top: number,
  height: number,
  palette: Palette,
): void {
  const unit = palette.rem / 16;
  const { recording } = seen;
  const kinds = kindsOf(recording);
  const count = Math.min(MOST_WARPS, recording.warps);
  const head = 16 * unit;
  const lane = (height - head) / count;
  const colours = {
    [Kind.Compute]: palette.ramps.register[20] ?? palette.registerLine,
    [Kind.Shared]: palette.sram,
    [Kind.Load]: palette.hbm,
    [Kind.Store]: palette.hbm,
    [Kind.Barrier]: palette.line,
  };
  brackets(context, seen, x, top, head, palette);
  const steps = recording.run.recording?.steps;
  if (!steps) return;
  const width = Math.max(1, x(1) - x(0));
  const inset = { [Kind.Compute]: 0.3, [Kind.Barrier]: 0.42, [Kind.Shared]: 0.14 };
  // Several steps on one pixel: the last kind drawn there is the one that counts most.
  for (const kind of [Kind.Compute, Kind.Barrier, Kind.Shared, Kind.Load, Kind.Store]) {
    context.fillStyle = colours[kind];
    const cut = lane * (inset[kind as keyof typeof inset] ?? 0.05);
    for (let step = 0; step < kinds.length; step++) {
      const warp = steps.warp[step] ?? 0;
      if (kinds[step] !== kind || warp >= count) continue;
      const y = top + head + warp * lane + cut;
      context.fillRect(x(step) - width / 2, y, width, lane - 2 * cut - unit);
    }
  }
}

function brackets(
  context: CanvasRenderingContext2D,
  seen: Seen,
  x: (step: number) => number,
  top: number,
  head: number,
  palette: Palette,
): void {
  const unit = palette.rem / 16;
  context.strokeStyle = palette.hbm;
  context.lineWidth = unit;
  context.font = `${palette.rem * 0.6}px ${palette.sans}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { number, first, last } of stretches(seen)) {
    const [from, to] = [x(first), x(last)];
    const y = top + head - 4 * unit;
    context.beginPath();
    context.moveTo(from, y + 3 * unit);
    context.lineTo(from, y);
    context.lineTo(to, y);
    context.lineTo(to, y + 3 * unit);
    context.stroke();
    if (to - from < 14 * unit) continue;
    const text = to - from > 44 * unit ? t.deck.passOf(number) : String(number);
    context.fillStyle = palette.hbm;
    context.fillText(text, from + 3 * unit, y - 5 * unit);
  }
}

/** A flag where a fault was seen first. */
function flags(
  context: CanvasRenderingContext2D,
  { seen }: Track,
  x: (step: number) => number,
  top: number,
  palette: Palette,
): void {
  const unit = palette.rem / 16;
  for (const { fault, step } of seen.recording.findings) {
    if (fault.severity === "note") continue;
    const at = x(step);
    context.fillStyle = fault.severity === "error" ? palette.fault : palette.activityMark;
    context.beginPath();
    context.moveTo(at, top + 11 * unit);
    context.lineTo(at - 4 * unit, top + 3 * unit);
    context.lineTo(at + 4 * unit, top + 3 * unit);
    context.closePath();
    context.fill();
    context.fillRect(at - 0.5 * unit, top + 9 * unit, unit, 8 * unit);
  }
}
