import { describe, expect, it } from "vitest";

import { isWatchable, variables, watched } from "../../src/model";
import { formulaOf } from "../../src/model/formula";
import { recordingOf } from "./traces";

const TILED = ["--rows", "2", "--vocab", "128", "-D", "TILE=64"];
const lane = recordingOf("online_softmax_lane", ...TILED);
const racy = recordingOf("online_softmax_tiled_racy", ...TILED);
const at = (warp: number, lane: number, block = 0) => ({ block, warp, lane });

function value(text: string, names: Readonly<Record<string, number>> = {}): number {
  return formulaOf(text)!.value((name) => names[name]!);
}

describe("a formula", () => {
  it.each([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["8 / 4 / 2", 1],
    ["2 - 3 - 4", -5],
    ["-2 * -3", 6],
    ["- (1 + 1)", -2],
    ["1.5e1f + .5", 15.5],
    ["fmaxf(1, 2) + min(3, 4)", 5],
    ["fmaxf(0 / 0, 2)", 2],
    ["logf(expf(3))", 3],
    ["fabsf(1 - 4)", 3],
    ["m + logf(d)", 2],
    ["part.m * 2", 14],
  ])("%s is %d", (text, expected) => {
    expect(value(text, { m: 2, d: 1, "part.m": 7 })).toBeCloseTo(expected, 12);
  });

  it.each([
    "", "1 +", "(1", "1)", "m m", "f(x)", "expf(1, 2)", "fmaxf(1)", "x[0]", "a = b", "1.2.3",
    "constructor(1)", "(".repeat(40) + "1" + ")".repeat(40), "1+".repeat(150) + "1",
  ])("%s is none", (text) => {
    expect(formulaOf(text)).toBeNull();
  });

  it("names each of its variables once", () => {
    expect(formulaOf("m + m * d")!.names).toEqual(["m", "d"]);
  });
});

describe("what can be watched", () => {
  it("are registers that are no addresses, and single shared numbers", () => {
    const names = variables(racy).map(({ name, space }) => `${space} ${name}`);
    expect(names).toContain("register m_new");
    expect(names).toContain("shared m_row");
    expect(names.join()).not.toMatch(/x_row|tile|scratch/);
  });

  it("depends on the kernel", () => {
    expect(isWatchable(racy, "m_row")).toBe(true);
    expect(isWatchable(lane, "m_row")).toBe(false);
    expect(isWatchable(lane, "m_lane + logf(d_lane)")).toBe(true);
    expect(isWatchable(lane, "1 + 1")).toBe(false);
  });
});

describe("a watched variable", () => {
  it("has in each lane what the registers have there", () => {
    for (const one of [at(0, 0), at(0, 17), at(1, 31, 1)]) {
      const points = watched(lane, "m_lane", one);
      expect(points.length).toBeGreaterThan(1);
      for (const { step, value } of points) {
        expect(lane.state(step).register(one, "m_lane")!.values[one.lane]).toBe(value);
      }
    }
  });

  it("of shared memory has what any warp of the block stored", () => {
    const points = watched(racy, "m_row", at(0, 0));
    const buffer = racy.buffers.find((one) => one.name === "m_row")!;
    expect(points.length).toBeGreaterThan(1);
    for (const { step, value } of points) {
      expect(racy.state(step).cell(buffer, 0, { block: 0 }).value).toBe(value);
    }
  });

  it("that a kernel lacks has no values", () => {
    expect(watched(lane, "m_row", at(0, 0))).toEqual([]);
  });
});

describe("a watched formula", () => {
  it("is taken anew whenever one of its variables changes, and once a step", () => {
    const thread = at(0, 5);
    const points = watched(lane, "m_lane + logf(d_lane)", thread);
    expect(new Set(points.map((one) => one.step)).size).toBe(points.length);
    const end = lane.state(points.at(-1)!.step);
    const [m, d] = ["m_lane", "d_lane"].map(
      (name) => end.register(thread, name)!.values[5] as number,
    );
    expect(points.at(-1)!.value).toBeCloseTo(m! + Math.log(d!), 10);
  });

  it("gives what the tracer gives for the same expression", () => {
    const text = "m_lane + logf(d_lane)";
    const traced = recordingOf("online_softmax_lane", ...TILED, "--watch", text);
    const watch = traced.run.watches.find((one) => one.label === "user")!;
    const ours = watched(traced, text, at(0, 0));
    const theirs = watch.step
      .map((number, place) => ({ step: traced.indexOf(number), place }))
      .filter(({ place }) => watch.block[place] === 0 && watch.warp[place] === 0)
      .filter(({ place }) => watch.lane[place] === 0)
      .map(({ step, place }) => [step, Number(watch.value[place])] as const);
    for (const { step, value } of ours) {
      const [, theirValue] = theirs.findLast(([at]) => at <= step)!;
      expect(value).toBeCloseTo(theirValue, 10);
    }
  });
});
