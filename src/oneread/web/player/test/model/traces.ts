/** Trace files as the engine of this checkout makes them, so that no fixture can be stale. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

import { vi } from "vitest";

import { type Recording, type Trace, decode } from "../../src/model";

// Each trace starts a Python, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

/** Kernels of the gallery, in groups that one launch shape suits. */
export const GALLERY = [
  "naive_softmax", "safe_softmax", "online_softmax", "top_k", "safe_softmax_topk",
  "online_softmax_topk", "safe_softmax_tiled", "online_softmax_tiled_racy", "online_softmax_tiled",
  "online_softmax_lane", "online_softmax_warp", "online_softmax_single_thread",
  "safe_softmax_shared", "relu", "fma_f32", "zoo_reused_scratch", "zoo_reused_scratch_fixed",
  "zoo_masked_first_tile", "zoo_masked_first_tile_fixed", "zoo_stray_tail", "zoo_stray_tail_fixed",
  "zoo_row_offset", "zoo_row_offset_fixed", "zoo_odd_tree", "zoo_odd_tree_fixed",
  "zoo_barrier_in_branch", "zoo_barrier_in_branch_fixed", "zoo_missing_syncwarp",
  "zoo_missing_syncwarp_fixed", "zoo_lowest_sentinel", "zoo_lowest_sentinel_fixed",
] as const;

const ROOT = join(import.meta.dirname, "../../../../../..");

/** Python with what the package needs: that of `make`, unless another one is named. */
function python(): string {
  const made = join(ROOT, ".venv/bin/python");
  return process.env["PYTHON"] ?? (existsSync(made) ? made : "python");
}

/** Return what `python -m oneread trace ARGUMENTS --out` writes. */
export function traceOf(...arguments_: string[]): Trace {
  const folder = mkdtempSync(join(tmpdir(), "oneread-trace-"));
  try {
    const file = join(folder, "run.json");
    const path = [join(ROOT, "src"), process.env["PYTHONPATH"] ?? ""].join(delimiter);
    const { status, error, stderr } = spawnSync(
      python(),
      ["-m", "oneread", "trace", ...arguments_, "--out", file],
      { encoding: "utf8", env: { ...process.env, PYTHONPATH: path } },
    );
    // 1 is a kernel with a fault, of which there are many here.
    if (status !== 0 && status !== 1) {
      throw new Error(`${python()} -m oneread trace ${arguments_.join(" ")}: ${error ?? stderr}`);
    }
    return JSON.parse(readFileSync(file, "utf8")) as Trace;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Return the recordings of a launch. */
export function recordingsOf(...arguments_: string[]): Recording[] {
  return decode(traceOf(...arguments_));
}

/** Return the recording of a launch of one kernel. */
export function recordingOf(...arguments_: string[]): Recording {
  return recordingsOf(...arguments_)[0]!;
}

/** Return the path of a kernel that stands beside these tests. */
export function kernelFile(name: string): string {
  return join(import.meta.dirname, "kernels", name);
}
