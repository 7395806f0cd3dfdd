// A cell in words.
import { t } from "../../strings";
import type { Seen } from "../seen";
import type { Plot } from "./plan";

export function cellText(seen: Seen, plot: Plot, index: number): string {
  const { recording, at, block } = seen;
  const state = recording.state(at);
  if (plot.buffer === null) {
    const register = state.register({ block, warp: plot.warp }, plot.variable);
    const set = register ? (register.set >>> index) & 1 : 0;
    const value = set ? register?.values[register.values.length === 1 ? 0 : index] : undefined;
    return t.tip.register(plot.variable, plot.warp, index, number(value));
  }
  const place = plot.first + index;
  const cell = state.cell(plot.buffer, place, { block });
  const parts = [t.tip.cell(plot.buffer.name, place, number(cell.value))];
  if (plot.buffer.space === "global") {
    const reads = state.touches(plot.buffer, "load", place, 1)[0] ?? 0;
    const writes = state.touches(plot.buffer, "store", place, 1)[0] ?? 0;
    parts.push(t.tip.touched(reads, writes));
  } else {
    parts.push(t.tip.bank(place % 32));
  }
  if (cell.step >= 0) parts.push(t.tip.stored(recording.step(cell.step).line));
  return parts.join("\n");
}

/** A number with the digits that a float has. */
export function number(value: number | bigint | undefined): string {
  if (value === undefined) return t.tip.unset;
  if (typeof value === "bigint") return String(value);
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value).replace("-", "−");
  return Number(value.toPrecision(6)).toString().replace("-", "−");
}
