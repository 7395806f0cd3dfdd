import { describe, expect, it } from "vitest";

import { type Recording, type Request, exchange, requests } from "../../src/model";
import { GALLERY, kernelFile, recordingOf, recordingsOf } from "./traces";

function all(recording: Recording): Request[] {
  return Array.from({ length: recording.length }, (_, step) => requests(recording, step)).flat();
}

const total = (found: readonly Request[], number: (one: Request) => number) =>
  found.reduce((sum, one) => sum + number(one), 0);

const launches = [
  ...recordingsOf(...GALLERY, "--rows", "2", "--vocab", "100"),
  // One lane has something to load in the last tile, and that is no element that all lanes share.
  ...recordingsOf(...GALLERY, "--rows", "3", "--vocab", "33", "--k", "1", "--schedule", "switch"),
  ...recordingsOf(...GALLERY, "--rows", "3", "--vocab", "1", "--k", "1"),
  ...recordingsOf("online_parallel", "--rows", "2", "--vocab", "128"),
  ...recordingsOf("safe_unfused", "--rows", "2", "--vocab", "96"),
];

describe.each(launches.map((one) => [one.run.kernel, one.run.launch.vocab, one] as const))(
  "requests of %s, %i columns",
  (_, __, recording) => {
    const { counts } = recording.run;
    const found = all(recording);
    const outer = found.filter(({ buffer }) => buffer.space === "global");
    const shared = found.filter(({ buffer }) => buffer.space === "shared");

    it("are as many as the engine counted", () => {
      expect(outer).toHaveLength(counts.global_requests);
      expect(shared).toHaveLength(counts.shared_requests);
    });

    it("ask for as many bytes", () => {
      expect(total(outer, ({ bytes }) => bytes)).toBe(counts.issued_bytes);
      expect(recording.bytes(recording.length - 1)).toBe(counts.issued_bytes);
    });

    it("touch as many sectors", () => {
      expect(total(outer, ({ sectors }) => sectors.length)).toBe(counts.sectors);
      expect(total(outer, ({ idealSectors }) => idealSectors)).toBe(counts.ideal_sectors);
    });

    it("take as many wavefronts", () => {
      expect(total(shared, ({ wavefronts }) => wavefronts)).toBe(counts.wavefronts);
    });
  },
);

describe("a request", () => {
  it("names the lane of each cell", () => {
    const recording = recordingOf(
      "online_softmax_tiled", "--rows", "1", "--vocab", "128", "-D", "TILE=64",
    );
    const load = all(recording).find(({ buffer, warp }) => buffer.name === "x" && warp === 1)!;
    expect(load).toMatchObject({ kind: "load", laneCount: 32, lanes: 0xffff_ffff, pass: 1 });
    expect(load.cells[0]).toBe(32);
    expect(load.laneOf).toEqual(Array.from({ length: 32 }, (_, lane) => lane));
    expect(load.sectors).toEqual([4, 5, 6, 7]);
  });

  it("gives each lane of a vector load its four cells", () => {
    const recording = recordingOf("online_softmax_warp", "--rows", "1", "--vocab", "128");
    const load = all(recording).find(({ buffer }) => buffer.name === "x")!;
    expect(load.cells).toHaveLength(128);
    expect(load.laneOf!.slice(0, 5)).toEqual([0, 0, 0, 0, 1]);
    expect(load.sectors).toHaveLength(16);
  });

  it("marks cells of another row", () => {
    const recording = recordingOf("zoo_stray_tail", "--rows", "2", "--vocab", "100");
    const strays = all(recording).flatMap((one) => one.strays);
    expect(strays.length).toBeGreaterThan(0);
    expect(strays.every((cell) => cell >= 100 && cell < 200)).toBe(true);
  });

  it("shows the race where it was seen", () => {
    const recording = recordingOf(
      "online_softmax_tiled_racy", "--rows", "2", "--vocab", "128", "-D", "TILE=64",
    );
    const racing = all(recording).flatMap(({ faults, buffer, line }) =>
      faults.filter(({ id }) => id === "race-warps").map((fault) => ({ fault, buffer, line })),
    );
    expect(racing.length).toBeGreaterThan(0);
    for (const { fault, buffer, line } of racing) {
      expect([buffer.name, line]).toEqual(["scratch", fault.line]);
    }
  });

  it("shares one cell among lanes that all read it", () => {
    const recording = recordingOf(
      "online_softmax_tiled", "--rows", "1", "--vocab", "128", "-D", "TILE=64",
    );
    const load = all(recording).find(
      ({ buffer, kind, laneCount }) => buffer.name === "m_row" && kind === "load" && laneCount > 1,
    )!;
    expect(load).toMatchObject({ together: true, cells: [0], laneOf: null, wavefronts: 1 });
    expect(load.conflicts).toEqual([]);
  });
});

describe("corners", () => {
  const recording = recordingOf(
    kernelFile("corners.cu"), "--rows", "1", "--vocab", "32", "--block", "32", "--grid", "1",
  );
  const found = all(recording);

  it("names the lanes that a condition leaves", () => {
    const load = found.filter(({ buffer, kind }) => buffer.name === "x" && kind === "load").at(-1)!;
    expect(load).toMatchObject({ laneCount: 20, lanes: 0xf_ffff, bytes: 80 });
    expect(load.laneOf).toEqual(Array.from({ length: 20 }, (_, lane) => lane));
  });

  it("names the banks that lanes wait for", () => {
    const store = found.find(({ buffer }) => buffer.name === "apart")!;
    expect(store).toMatchObject({ wavefronts: 8, idealWavefronts: 1 });
    expect(store.conflicts).toHaveLength(4);
    expect(store.conflicts[0]).toEqual({ bank: 0, words: [0, 32, 64, 96, 128, 160, 192, 224] });
  });

  it("has the cell of an atomic once for each lane", () => {
    const atomic = found.find(({ kind }) => kind === "atomic")!;
    expect(atomic.cells).toEqual(Array<number>(32).fill(0));
    expect(atomic.values.at(-1)).toBe(496);
  });
});

describe("exchange", () => {
  const recording = recordingOf("online_softmax_warp", "--rows", "1", "--vocab", "128");
  const found = Array.from({ length: recording.length }, (_, step) => exchange(recording, step))
    .filter((one) => one !== undefined);

  it("finds each shuffle in the text of its statement", () => {
    expect(found.map(({ name }) => name)).toEqual(Array<string>(5).fill("__shfl_xor_sync"));
  });

  it("knows from which lane each lane takes", () => {
    const by = found.map(({ sources }) => sources![0]);
    expect(by).toEqual([16, 8, 4, 2, 1]);
  });
});
