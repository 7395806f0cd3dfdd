import { describe, expect, it } from "vitest";

import {
  bytesOf, compare, ledger, lesson, level, passLists, series, totalBytes,
} from "../../src/model";
import { recordingOf } from "./traces";

const TILED = ["--rows", "2", "--vocab", "128", "-D", "TILE=32"];
const safe = recordingOf("safe_softmax_tiled", ...TILED);
const online = recordingOf("online_softmax_tiled", ...TILED);
// With one warp its race does no harm.
const racy = recordingOf("online_softmax_tiled_racy", ...TILED);
const lane = recordingOf("online_softmax_lane", ...TILED);

describe("series", () => {
  const { m, d, factor } = series(racy, 0);
  const beads = factor.flatMap(({ points }) => points);

  it("has a maximum that never falls", () => {
    const { points } = m.find(({ name }) => name === "m_new")!;
    for (const [place, point] of points.entries()) {
      if (place > 0) expect(point.value).toBeGreaterThanOrEqual(points[place - 1]!.value);
    }
    expect(points.length).toBeGreaterThanOrEqual(4);
  });

  it("ends with the d of the row", () => {
    const x = racy.state(-1).cells(racy.buffers[0]!, 0, 128).values;
    const maximum = Math.max(...x);
    const sum = x.reduce((total, one) => total + Math.exp(one - maximum), 0);
    const last = d.flatMap(({ points }) => points).at(-1)!;
    expect(last.value).toBeCloseTo(sum, 3);
  });

  it("explains each factor by two maxima", () => {
    expect(beads.length).toBeGreaterThanOrEqual(4);
    for (const bead of beads) {
      expect(bead.before).not.toBeNull();
      expect(Math.exp(bead.before! - bead.after!)).toBeCloseTo(bead.value, 5);
    }
  });

  it("says how many terms one multiplication repairs", () => {
    const moved = beads.filter(({ idle, before }) => !idle && Number.isFinite(before));
    expect(moved.length).toBeGreaterThan(0);
    for (const bead of moved) {
      const terms = /^The (\d+) terms in d were computed against/.exec(bead.sentence)?.[1];
      expect(Number(terms) % 32, bead.sentence).toBe(0);
      expect(bead.label).toMatch(/^× exp\(.+ − .+\) = /);
    }
  });

  it("says of an idle factor that it is 1", () => {
    const down = recordingOf("online_softmax_tiled_racy", ...TILED, "--input", "down");
    const idle = series(down, 0).factor.flatMap(({ points }) => points).filter((one) => one.idle);
    expect(idle.length).toBeGreaterThan(0);
    for (const { sentence } of idle) {
      expect(sentence).toMatch(/^The maximum stays 0: the factor is 1/);
    }
  });

  it("says of a factor of NaN where it came from", () => {
    const nan = recordingOf("zoo_masked_first_tile", "--input", "inf-first-tile");
    const found = series(nan).factor.flatMap(({ points }) => points)
      .filter(({ value }) => Number.isNaN(value));
    expect(found.length).toBeGreaterThan(0);
    for (const { sentence } of found) expect(sentence).toMatch(/no difference: the factor is NaN/);
  });

  it("has what the user watches", () => {
    const watched = recordingOf("online_softmax_lane", ...TILED, "--watch", "m_lane + d_lane");
    expect(series(watched).user[0]).toMatchObject({ name: "m_lane + d_lane" });
  });

  it("is of one block where one is asked for", () => {
    expect(beads.every(({ block }) => block === 0)).toBe(true);
    expect(series(racy).factor.flatMap(({ points }) => points).length).toBe(2 * beads.length);
  });
});

describe("ledger", () => {
  const value = (found: ReturnType<typeof ledger>, id: string, buffer?: string) =>
    found.entries.find((one) => one.id === id && one.buffer === buffer);

  it("has three passes of the safe kernel and two of the online one", () => {
    expect(value(ledger(safe.run), "passes", "x")).toMatchObject({ value: 3 });
    expect(value(ledger(online.run), "passes", "x")).toMatchObject({ value: 2 });
  });

  it("leads from a number to the lines that cause it", () => {
    const text = safe.run.source.text.split("\n");
    const { lines } = value(ledger(safe.run), "reads", "x")!;
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(text[line - 1]).toContain("x_row[i]");
    for (const line of value(ledger(safe.run), "barriers")!.lines) {
      expect(text[line - 1]).toContain("__syncthreads()");
    }
  });

  it("tells the three counts of bytes apart", () => {
    const found = ledger(safe.run);
    expect(bytesOf(found, "issued")).toBe(4 * 2 * 128 * 4);
    expect(bytesOf(found, "after_reuse")).toBe(4 * 2 * 128 * 4);
    expect(bytesOf(found, "dram_model")).toBe(2 * 2 * 128 * 4);
  });

  it("compares each kernel with the first", () => {
    const found = compare([ledger(safe.run), ledger(online.run)]);
    expect(found.find(({ id }) => id === "reads")!.ratios).toEqual([1, 2 / 3]);
    expect(found.find(({ id }) => id === "barriers")!.ratios[1]).toBeGreaterThan(1);
  });
});

describe("level", () => {
  it("has one kernel at its end while the other still reads", () => {
    const bytes = totalBytes(online);
    const [slow, fast] = level([safe, online], bytes) as [number, number];
    expect(fast).toBe(online.length - 1);
    expect(slow).toBeLessThan(safe.length - 1);
    expect(safe.bytes(slow)).toBe(bytes);
  });

  it("is before all that moves bytes at 0", () => {
    for (const [place, step] of level([safe, online], 0).entries()) {
      const recording = [safe, online][place]!;
      expect(recording.bytes(step)).toBe(0);
      expect(recording.bytes(step + 1)).toBeGreaterThan(0);
    }
  });
});

describe("lesson", () => {
  const steps = Object.fromEntries(lesson(racy).map((one) => [one.id, one]));
  const x = racy.state(-1).cells(racy.buffers[0]!, 0, 128).values;

  it("has the seven steps in order, for any softmax", () => {
    const ids = ["subtract", "definition", "split", "stays", "tiles", "early", "fused"];
    for (const recording of [safe, online, racy, lane]) {
      expect(lesson(recording).map(({ id }) => id)).toEqual(ids);
    }
  });

  it("defines d as the kernel has it", () => {
    const { values, step } = steps["definition"]!;
    expect(values["kernel_sum"]).toBeCloseTo(values["sum"]!, 4);
    expect(values["terms"]! % 32).toBe(0);
    expect(step).not.toBeNull();
  });

  it("finds d in a register where nobody watches it", () => {
    const shared = recordingOf("safe_softmax_shared", "--rows", "1", "--vocab", "64");
    const { values, step } = lesson(shared).find(({ id }) => id === "definition")!;
    expect(values["terms"]).toBe(64);
    expect(shared.state(step!).register({ block: 0, warp: 0 }, "d")!.values[0])
      .toBe(values["kernel_sum"]);
  });

  it("finds no d against a maximum where none is subtracted", () => {
    const naive = recordingOf("naive_softmax", "--rows", "1", "--vocab", "64");
    const { values, step } = lesson(naive).find(({ id }) => id === "definition")!;
    expect([values, step]).toEqual([{}, null]);
  });

  it("has an early output of a row that is one tile", () => {
    const warp = recordingOf("online_softmax_warp", "--rows", "1", "--vocab", "64");
    const { values } = lesson(warp).at(-1)!;
    expect(values).toMatchObject({ part: 1, too_early: 1 });
  });

  it("splits d where the kernel corrects it", () => {
    const { values } = steps["split"]!;
    expect(values["old_sum"]! * values["factor"]! + values["new_terms"]!)
      .toBeCloseTo(values["new_sum"]!, 5);
    expect(values["new_terms"]).toBeGreaterThan(0);
    expect(values["after"]).toBeGreaterThan(values["before"]!);
  });

  it("adds a tile to what came before", () => {
    const { values } = steps["tiles"]!;
    expect(values["old_sum"]! * values["factor"]! + values["tile_sum"]!)
      .toBeCloseTo(values["new_sum"]!, 10);
    expect(values["size"]).toBe(32);
  });

  it("names the column that a second pass waits for", () => {
    const { values, step } = steps["early"]!;
    expect(x[values["column"]!]).toBe(Math.max(...x));
    expect(values["before"]).toBeLessThan(values["maximum"]!);
    expect(step).not.toBeNull();
  });

  it("shows that an early output is wrong and the late one is what the kernel stored", () => {
    const { values, step } = steps["fused"]!;
    const y = racy.state(racy.length - 1).cell(racy.buffers[1]!, 0).value;
    expect(values["right"]).toBeCloseTo(Number(y), 6);
    expect(values["too_early"]).not.toBeCloseTo(values["right"]!, 6);
    expect(racy.state(step!).cell(racy.buffers[1]!, 0).value).toBe(y);
  });

  it("overflows without the maximum where the row is large", () => {
    const large = recordingOf("online_softmax_tiled", ...TILED, "--input", "large");
    const [subtract] = lesson(large);
    expect(subtract!.values["naive"]).toBe(Infinity);
    expect(subtract!.values["maximum"]).toBeGreaterThan(subtract!.values["limit"]!);
  });

  it("has nothing to say of a kernel that reads no row", () => {
    expect(lesson(recordingOf("fma_f32"))).toEqual([]);
  });
});

describe("lists of passes", () => {
  const lists = passLists(safe, 0);

  it("have the reads and writes of each pass", () => {
    const passes = lists.filter(({ number }) => number > 0);
    expect(passes.map(({ number }) => number)).toEqual([1, 2, 3]);
    for (const { reads } of passes) {
      expect(reads.map(({ buffer, elements }) => [buffer.name, elements])).toEqual([["x", 128]]);
    }
    expect(passes.map(({ writes }) => writes.length)).toEqual([0, 0, 1]);
  });

  it("have all requests of shared memory and all barriers of the launch between them", () => {
    const all = passLists(safe);
    const shared = all.flatMap((one) => one.shared);
    const requests = shared.reduce((sum, one) => sum + one.requests, 0);
    expect(requests).toBe(safe.run.counts.shared_requests);
    expect(all.reduce((sum, one) => sum + one.barriers, 0)).toBe(safe.run.counts.barriers);
  });
});
