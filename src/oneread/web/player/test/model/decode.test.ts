import { describe, expect, it } from "vitest";

import { decode } from "../../src/model";
import { kernelFile, recordingOf, recordingsOf, traceOf } from "./traces";

const last = (recording: ReturnType<typeof recordingOf>) => recording.state(recording.length - 1);
const buffer = (recording: ReturnType<typeof recordingOf>, name: string) =>
  recording.buffers.find((one) => one.name === name)!;

describe("decode", () => {
  it("reads inputs as they were given", () => {
    const recording = recordingOf(
      "safe_softmax", "--rows", "1", "--vocab", "64", "--input", "ramp",
    );
    const { values, set } = recording.state(-1).cells(buffer(recording, "x"), 0, 64);
    expect([...values]).toEqual(Array.from({ length: 64 }, (_, column) => column / 8));
    expect(set.every((one) => one === 1)).toBe(true);
  });

  it.each([["nan", NaN], ["plus-inf", Infinity], ["all-inf", -Infinity]])(
    "reads %s back",
    (pattern, value) => {
      const recording = recordingOf(
        "safe_softmax", "--rows", "1", "--vocab", "64", "--input", pattern,
      );
      const { values } = recording.state(-1).cells(buffer(recording, "x"), 0, 64);
      expect([...values].some((one) => Object.is(one, value))).toBe(true);
    },
  );

  it("makes one recording of each launch of a sequence", () => {
    const recordings = recordingsOf("online_parallel", "--rows", "2", "--vocab", "128");
    expect(recordings.map(({ run }) => run.kernel)).toHaveLength(recordings.length);
    expect(recordings.length).toBeGreaterThan(1);
    const [first, second] = recordings as [typeof recordings[0], typeof recordings[0]];
    const shared = first!.buffers.find(
      (one) => one.role === "output" && second!.buffers.some(({ name }) => name === one.name),
    )!;
    const made = last(first!).cells(shared, 0, shared.cells);
    const found = second!.state(-1).cells(buffer(second!, shared.name), 0, shared.cells);
    expect(found.values).toEqual(made.values);
  });

  it("keeps counts and has no steps where no events were recorded", () => {
    const trace = traceOf("relu", "--rows", "1", "--vocab", "8");
    const [recording] = decode({
      ...trace, runs: trace.runs.map((run) => ({ ...run, recording: null })),
    });
    expect(recording!.length).toBe(0);
    expect(recording!.run.counts.steps).toBeGreaterThan(0);
    expect(recording!.findings).toEqual([]);
  });

  it("says which blocks were recorded", () => {
    const recording = recordingOf(
      "safe_softmax_tiled", "--rows", "4", "--vocab", "128", "--record", "1,3",
    );
    expect(recording.blocks).toEqual([1, 3]);
    expect(recording.step(0).block).toBe(1);
  });
});

describe("a recording that a limit has cut", () => {
  const recording = recordingOf(
    "safe_softmax_tiled", "--rows", "8", "--vocab", "64", "-D", "TILE=32",
    "--limit", "recorded=300",
  );

  it("names the limit and has the first blocks", () => {
    expect(recording.reduced).toBe("recorded");
    expect(recording.blocks.length).toBeGreaterThan(0);
    expect(recording.blocks.length).toBeLessThan(8);
    expect(recording.blocks).toEqual(recording.blocks.map((_, place) => place));
  });

  it("leaves the outputs of the other blocks unset", () => {
    const y = buffer(recording, "y");
    const { set } = last(recording).cells(y, 0, y.cells);
    const recorded = recording.blocks.length * 64;
    expect([...set]).toEqual(Array.from({ length: y.cells }, (_, at) => Number(at < recorded)));
  });

  it("has no shared memory of a block that is not there", () => {
    const cell = last(recording).cell(buffer(recording, "scratch"), 0, { block: 7 });
    expect(cell).toEqual({ value: undefined, step: -1 });
    expect(last(recording).registers({ block: 7, warp: 0 })).toEqual([]);
    expect(last(recording).waiting(7)).toBeUndefined();
  });

  it("refuses a step that it does not have", () => {
    expect(() => recording.step(-1)).toThrow(RangeError);
    expect(() => recording.step(recording.length)).toThrow(RangeError);
  });
});

describe("types of cells", () => {
  const recording = recordingOf(
    kernelFile("corners.cu"), "--rows", "1", "--vocab", "32", "--block", "32", "--grid", "1",
  );
  const state = last(recording);
  const at = { block: 0, warp: 0 };
  const value = (name: string, cell: number) =>
    state.cell(buffer(recording, name), cell, at).value;

  it("keeps every bit of an unsigned integer of 64 bits", () => {
    expect(value("wide", 3)).toBe(0xffff_ffff_ffff_fffcn);
  });

  it("reads a flag as 0 or 1", () => {
    expect([0, 1, 2, 3].map((cell) => value("flags", cell))).toEqual([1, 0, 0, 1]);
  });

  it("reads the members of a struct by their own types", () => {
    expect(buffer(recording, "pairs").types).toEqual(["f", "i"]);
    expect(value("pairs", 2 * 7 + 1)).toBe(7);
    expect(value("pairs", 2 * 7)).toBe(value("x", 7));
  });

  it("reads doubles that are no float32", () => {
    expect(value("y", 2)).toBe(2 * (1 / 3));
  });

  it("sums what lanes add to one cell at once", () => {
    expect(value("total", 0)).toBe((31 * 32) / 2);
  });

  it("reads a bool in registers lane by lane", () => {
    expect(state.register(at, "odd")!.values.slice(0, 4)).toEqual([0, 1, 0, 1]);
  });

  it("has a local array for each lane", () => {
    const mine = buffer(recording, "mine");
    expect(mine.space).toBe("local");
    expect(mine.cells).toBe(64);
    expect(value("mine", 2 * 5)).toBe(value("x", 5));
    expect(value("mine", 2 * 25)).toBe(-Infinity);
  });
});
