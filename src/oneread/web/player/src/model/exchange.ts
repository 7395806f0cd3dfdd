/**
 * Lanes that hand values to each other. The recording has the registers before and after; which
 * operation it was stands in the text of the statement.
 */

import { WARP } from "./numbers";
import type { Recording } from "./recording";
import type { Exchange, State, WarpId } from "./types";

const OPERATION =
  /\b(__shfl(?:_up|_down|_xor)?_sync|__reduce_\w+_sync|__ballot_sync|__any_sync|__all_sync)\s*\(/;

/** Return the shuffle, vote or reduction of lanes in a step, if its statement has one. */
export function exchange(recording: Recording, index: number): Exchange | undefined {
  const step = recording.step(index);
  const text = statementAt(recording.run.source.text, step.line, step.column);
  const found = OPERATION.exec(text);
  if (found === null) return undefined;
  const name = found[1]!;
  if (!name.startsWith("__shfl")) return { name, sources: null };
  const operands = operandsOf(text.slice(found.index + found[0].length));
  const before = recording.state(index - 1);
  const by = lanesWith(operands[2] ?? "", before, step);
  const width = lanesWith(operands[3] ?? String(WARP), before, step);
  if (by === undefined || width === undefined) return { name, sources: null };
  return { name, sources: by.map((asked, lane) => sourceOf(name, lane, asked, width[lane]!)) };
}

/** Return a statement, or a condition, from where it begins to its `;` or `)`. */
function statementAt(source: string, line: number, column: number): string {
  const rest = source.split("\n").slice(line - 1).join("\n").slice(column - 1);
  const bare = rest.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, " ");
  let depth = 0;
  for (let at = 0; at < bare.length; at++) {
    const char = bare[at]!;
    if (char === "(") depth++;
    if (char === ")" && depth-- === 0) return bare.slice(0, at);
    if (char === ";") return bare.slice(0, at);
  }
  return bare;
}

/** Return the operands of a call, whose `(` has been read. */
function operandsOf(text: string): string[] {
  const found = [""];
  let depth = 0;
  for (const char of text) {
    if (char === ")" && depth === 0) break;
    if (char === "(") depth++;
    if (char === ")") depth--;
    if (char === "," && depth === 0) found.push("");
    else found[found.length - 1] += char;
  }
  return found.map((operand) => operand.trim());
}

/** Return a plain number or variable in each lane; undefined for any other expression. */
function lanesWith(operand: string, state: State, at: WarpId): number[] | undefined {
  if (/^(0x[\da-f]+|\d+)u?$/i.test(operand)) {
    return Array<number>(WARP).fill(Number(operand.replace(/u$/i, "")));
  }
  return state.register(at, operand)?.values.map(Number);
}

/** Return the lane from which a lane takes its value. */
function sourceOf(name: string, lane: number, asked: number, width: number): number {
  const size = [1, 2, 4, 8, 16, 32].includes(width) ? width : WARP;
  const start = lane - (lane % size);
  const by = asked & (WARP - 1);
  if (name === "__shfl_up_sync") return lane - by >= start ? lane - by : lane;
  if (name === "__shfl_down_sync") return lane + by < start + size ? lane + by : lane;
  if (name === "__shfl_xor_sync") return (lane ^ by) < start + size ? lane ^ by : lane;
  return start + (((asked % size) + size) % size);
}
