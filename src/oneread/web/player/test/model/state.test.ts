import { describe, expect, it } from "vitest";

import type { Recording } from "../../src/model";
import { Replay } from "./replay";
import { GALLERY, kernelFile, recordingOf, recordingsOf } from "./traces";

const gallery = recordingsOf(...GALLERY, "--rows", "2", "--vocab", "100");

const KERNELS: Record<string, () => Recording> = {
  racy: () =>
    recordingOf("online_softmax_tiled_racy", "--rows", "2", "--vocab", "128", "-D", "TILE=64"),
  switching: () =>
    recordingOf(
      "online_softmax_tiled", "--rows", "2", "--vocab", "128", "-D", "TILE=64",
      "--schedule", "switch", "--seed", "3",
    ),
  nan: () => recordingOf("zoo_masked_first_tile", "--rows", "2", "--input", "inf-first-tile"),
  shuffles: () => recordingOf("online_softmax_warp", "--rows", "3", "--vocab", "101"),
  corners: () =>
    recordingOf(
      kernelFile("corners.cu"), "--rows", "1", "--vocab", "32", "--block", "32", "--grid", "1",
    ),
};

/** Some steps of a recording, spread over it, the same at each run; not in order. */
function somewhere(recording: Recording): number[] {
  return Array.from({ length: 20 }, (_, place) => (place * 7919 + 13) % recording.length);
}

describe.each(Object.entries(KERNELS))("the state of %s", (_, make) => {
  const recording = make();

  it("is what doing every event in order gives, wherever one jumps", () => {
    for (const step of somewhere(recording)) {
      const replay = new Replay(recording);
      replay.until(step);
      const state = recording.state(step);
      for (const at of recording.allWarps()) {
        for (const { name, type, values } of state.registers(at)) {
          if (type === "bool") continue;
          expect(values, name).toEqual(replay.registers.get(`${name}@${at.block}/${at.warp}`));
        }
        for (const buffer of recording.buffers) {
          const places = Array.from({ length: buffer.cells }, (_, cell) => cell);
          const found = places.map((cell) => state.cell(buffer, cell, at));
          const want = places.map((cell) => replay.cells.get(Replay.place(buffer, cell, at)));
          expect(found.map(({ value, step: by }) => (by < 0 ? undefined : value))).toEqual(want);
          const { values, set } = state.cells(buffer, 0, buffer.cells, at);
          expect([...set]).toEqual(found.map(({ value }) => Number(value !== undefined)));
          expect([...values]).toEqual(found.map(({ value }) => Number(value ?? 0)));
        }
      }
    }
  });

  it("has before each store what the engine says was there", () => {
    const { columns, pools } = recording;
    let compared = 0;
    for (let event = 0; event < columns.events; event++) {
      if (recording.operation(event) !== "store") continue;
      const buffer = recording.bufferOf(event);
      const before = recording.machine.afterEvents(event);
      const at = recording.step(columns.step[event]!);
      recording.cellsOf(event).forEach((cell, item) => {
        const { value } = before.cell(buffer, cell, at);
        if (value === undefined) return;
        const type = buffer.types[cell % buffer.types.length]!;
        const pool = columns.pool[event] as 0 | 1 | 2;
        expect(value).toEqual(pools.value(pool, columns.old[event]! + item, type));
        compared++;
      });
    }
    // The others store to each cell once only.
    if (recording.run.kernel.includes("tiled")) expect(compared).toBeGreaterThan(0);
  });
});

describe.each(gallery.map((one) => [one.run.name, one] as const))("%s", (_, recording) => {
  const end = recording.state(recording.length - 1);

  it("ends with the outputs of the file", () => {
    for (const buffer of recording.buffers) {
      const { after } = recording.run.buffers[buffer.index]!;
      if (after === null) continue;
      const want = recording.pools.vector(after, buffer.types);
      const { values, set } = end.cells(buffer, 0, buffer.cells);
      set.forEach((one, cell) => {
        if (one === 1) expect(values[cell]).toEqual(want[cell]);
      });
    }
  });

  it("ends with the loads and stores an element that the engine counted", () => {
    for (const counts of recording.run.counts.buffers) {
      const buffer = recording.buffers.find((one) => one.name === counts.name)!;
      for (const [kind, spread] of [["load", counts.loads], ["store", counts.stores]] as const) {
        const times = [...end.touches(buffer, kind, 0, buffer.cells)];
        expect(Math.min(...times)).toBe(spread.min);
        expect(Math.max(...times)).toBe(spread.max);
      }
    }
  });

  it("parts the loads of each element among passes", () => {
    for (const buffer of recording.buffers.filter(({ space }) => space === "global")) {
      const total = end.touches(buffer, "load", 0, buffer.cells);
      const parts = end.readsByPass(buffer, 0, buffer.cells);
      const sums = total.map((_, cell) => parts.reduce((sum, pass) => sum + pass[cell]!, 0));
      // Atomics load too, and are no part of a pass.
      const atomic = recording.run.counts.lines.some(
        (one) => one.kind === "atomic" && one.buffer === buffer.name,
      );
      if (!atomic) expect(sums).toEqual(total);
    }
  });
});

describe("waiting", () => {
  const recording = recordingOf(
    "online_softmax_tiled", "--rows", "1", "--vocab", "128", "-D", "TILE=64",
  );
  const barriers = Array.from({ length: recording.length }, (_, step) => step).filter(
    (step) => recording.operation(recording.eventsOf(step)[1] - 1) === "barrier",
  );

  it("has the first warp alone, then both, then none", () => {
    const [first, second] = barriers as [number, number];
    expect(recording.state(first).waiting(0)).toMatchObject({ warps: [0], complete: false });
    expect(recording.state(second).waiting(0)).toMatchObject({ warps: [0, 1], complete: true });
    expect(recording.state(second + 1).waiting(0)).toBeUndefined();
  });

  it("is nothing before the first barrier", () => {
    expect(recording.state(barriers[0]! - 1).waiting(0)).toBeUndefined();
  });

  it("comes to each barrier as often as the engine counted", () => {
    expect(barriers).toHaveLength(recording.run.counts.barriers * recording.warps);
  });
});

describe("registers", () => {
  const recording = recordingOf(
    "online_softmax_tiled", "--rows", "1", "--vocab", "128", "-D", "TILE=64",
  );

  it("have no value before they are set", () => {
    expect(recording.state(-1).registers({ block: 0, warp: 0 })).toEqual([]);
    expect(recording.state(0).register({ block: 0, warp: 1 }, "lane")).toBeUndefined();
  });

  it("number the lanes of the second warp from 32", () => {
    const end = recording.state(recording.length - 1);
    const lane = end.register({ block: 0, warp: 1 }, "lane")!;
    expect(lane.values).toEqual(Array.from({ length: 32 }, (_, place) => 32 + place));
    expect(lane.set).toBe(0xffff_ffff);
    expect(lane.uniform).toBe(false);
  });
});
