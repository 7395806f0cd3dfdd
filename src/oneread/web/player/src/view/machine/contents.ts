// What of a kernel is shown: which buffers, which part of them, which variables of which warps.
import type { Buffer } from "../../model";
import type { Seen } from "../seen";

/** Cells of a line: lanes of a warp, banks of shared memory. */
export const COLUMNS = 32;

/** Lines of cells that a buffer in global memory shows at once. */
const MOST_LINES = 8;
const MOST_WARPS = 4;
const MOST_VARIABLES = 4;

/** Which part of a buffer in global memory is shown. */
export interface Window {
  readonly row: number;
  /** First line of 32 cells within the row. */
  readonly line: number;
}

/** What of a kernel is shown, before it has a place. */
export interface Contents {
  readonly global: readonly { readonly buffer: Buffer; readonly window: Window }[];
  readonly arrays: readonly Buffer[];
  readonly scalars: readonly Buffer[];
  readonly variables: readonly string[];
  readonly warps: readonly number[];
}

export function contentsOf(
  seen: Seen,
  windows: ReadonlyMap<number, Window>,
  warp: number,
): Contents {
  const { recording, block } = seen;
  const shared = recording.buffers.filter((one) => one.space === "shared");
  const global = recording.buffers.filter((one) => one.space === "global");
  const count = Math.min(MOST_WARPS, recording.warps);
  const from = recording.warps <= MOST_WARPS ? 0 : Math.min(warp, recording.warps - count);
  return {
    global: global.map((buffer) => {
      const rows = buffer.rowCells > 0 ? Math.ceil(buffer.cells / buffer.rowCells) : 1;
      const start = { row: Math.min(block, rows - 1), line: 0 };
      return { buffer, window: windows.get(buffer.index) ?? start };
    }),
    arrays: shared.filter((one) => one.cells > 1),
    scalars: shared.filter((one) => one.cells === 1),
    variables: variablesOf(seen),
    warps: Array.from({ length: count }, (_, index) => from + index),
  };
}

/** Variables with a fraction are what softmax is about; others stand in where there is none. */
function variablesOf(seen: Seen): string[] {
  const names = seen.recording.run.recording?.names ?? [];
  const typed = names.filter((one) => one.space === "register");
  const values = typed.filter((one) => !one.type.includes("*"));
  const floats = values.filter((one) => /\b(float|double|__half|half)\b/.test(one.type));
  const chosen = floats.length > 0 ? floats : values;
  return [...new Set(chosen.map((one) => one.name))].slice(0, MOST_VARIABLES);
}

/** Lines of cells that a buffer shows, of how many its row has. */
export function linesOf(buffer: Buffer): { shown: number; all: number } {
  const all = Math.max(1, Math.ceil((buffer.rowCells || buffer.cells) / COLUMNS));
  return { shown: Math.min(MOST_LINES, all), all };
}
