import { describe, expect, it } from "vitest";

import { requests } from "../../src/model";
import { Playback } from "../../src/view/playback";
import { Seen } from "../../src/view/seen";
import { type PageState, initialState } from "../../src/view/state";
import { Store } from "../../src/view/store";
import { recordingOf } from "../model/traces";

const TILED = ["--rows", "2", "--vocab", "128", "-D", "TILE=64"];
const recordings = ["safe_softmax_tiled", "online_softmax_tiled_racy", "online_softmax_lane"].map(
  (key) => recordingOf(key, ...TILED),
);

function compared(focus = 1): { playback: Playback; seen: Seen[]; store: Store<PageState> } {
  const seen = recordings.map((one) => new Seen(one));
  const store = new Store<PageState>({ ...initialState(), seen, focus });
  return { playback: new Playback(store), seen, store };
}

describe("kernels side by side", () => {
  it("begin at their first access of global memory", () => {
    const { playback, seen } = compared();
    playback.first();
    for (const one of seen) {
      expect(requests(one.recording, one.at).some((two) => two.buffer.space === "global")).toBe(
        true,
      );
      expect(one.bytes).toBe(128);
    }
  });

  it("have moved as many bytes after every move of the leader", () => {
    const { playback, seen } = compared();
    const [safe, racy, lane] = seen as [Seen, Seen, Seen];
    for (let moves = 0; moves < 5000 && racy.bytes < racy.allBytes; moves++) {
      expect(playback.move(1)).toBe(true);
      // A step may ask for a load and a store at once; no kernel is further ahead than that.
      expect(safe.bytes).toBeLessThanOrEqual(racy.bytes);
      expect(racy.bytes - lane.bytes).toBeLessThanOrEqual(256);
    }
  });

  it("go on when the leader has ended, until all have", () => {
    const { playback, seen } = compared();
    for (let moves = 0; moves < 50 && playback.move(1, "pass"); moves++);
    expect(playback.move(1, "pass")).toBe(false);
    expect(seen.map((one) => one.bytes)).toEqual(seen.map((one) => one.allBytes));
  });

  it("come back to the start by steps back", () => {
    const { playback, seen } = compared();
    playback.last();
    for (let moves = 0; moves < 5000 && playback.move(-1, "tile"); moves++);
    expect(Math.max(...seen.map((one) => one.bytes))).toBeLessThanOrEqual(256);
  });

  it("stand where a place of the timeline says", () => {
    const { playback, seen } = compared();
    playback.seek(1000);
    for (const one of seen) {
      expect(one.bytes).toBeLessThanOrEqual(1000);
      expect(one.bytes).toBeGreaterThan(1000 - 256);
    }
  });
});

describe("a line that is visited", () => {
  it("goes round after its last execution", () => {
    const { playback, seen } = compared();
    const racy = seen[1]!;
    const [first] = racy.recording.hits(36);
    const times = racy.recording.hits(36).length;
    for (let visit = 0; visit <= times; visit++) expect(playback.visit(36)).toBe(true);
    expect(racy.at).toBe(first);
  });

  it("is refused where nothing runs", () => {
    expect(compared().playback.visit(1)).toBe(false);
  });
});

describe("findings", () => {
  it("come one after another and round again, and are no notes", () => {
    const { playback, seen, store } = compared();
    const count = seen[1]!.recording.findings.filter((one) => one.fault.severity !== "note").length;
    const found = Array.from({ length: count + 1 }, () => {
      const fault = playback.finding()!;
      store.set({ shown: { slot: 1, fault } });
      return fault;
    });
    expect(new Set(found).size).toBe(count);
    expect(found.at(-1)).toBe(found[0]);
    expect(found.every((one) => one.severity !== "note")).toBe(true);
  });

  it("are none in a kernel without faults", () => {
    expect(compared(2).playback.finding()).toBeUndefined();
  });
});

describe("the timeline", () => {
  it("is zoomed around the playhead, and out to the whole run again", () => {
    const { playback, store, seen } = compared();
    playback.seek(seen[0]!.allBytes / 2);
    playback.zoom(0.5);
    const { from, to } = store.state.span;
    expect(to - from).toBeCloseTo(0.5);
    expect((from + to) / 2).toBeCloseTo(0.5, 1);
    playback.zoom(null);
    expect(store.state.span).toEqual({ from: 0, to: 1 });
  });
});
