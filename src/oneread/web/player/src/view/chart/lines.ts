// Which lines the chart shows: m and d where the kernel has them, then what is watched.
import type { Curve } from "../curves";
import type { Seen } from "../seen";
import type { Line } from "./geometry";

export function linesOf(seen: Seen, curve: Curve, watched: readonly string[]): Line[] {
  const roles = (["m", "d"] as const).flatMap((kind): Line[] => {
    const line = curve[kind];
    return line ? [{ kind, name: line.name, points: line.points }] : [];
  });
  const others = watched
    .map((text) => seen.watched(text, curve.thread))
    .filter((one) => one.points.length > 0);
  return [...roles, ...others];
}
