import { describe, expect, it } from "vitest";

import { last, scaleOf, stairs } from "../../src/view/chart/geometry";
import { Seen } from "../../src/view/seen";
import { recordingOf } from "../model/traces";

const lane = recordingOf("online_softmax_lane", "--rows", "2", "--vocab", "256", "-D", "TILE=64");
const safe = recordingOf("safe_softmax_tiled", "--rows", "2", "--vocab", "128", "-D", "TILE=64");
const point = (step: number, value: number) => ({ step, value, block: 0, warp: 0, lane: 0 });

describe("a staircase", () => {
  const box = { left: 0, right: 100, first: 0, last: 100 };

  it("keeps a value until the next one", () => {
    const points = [point(0, 0), point(50, 1)];
    expect(stairs(points, box, scaleOf(points, 10, 0))).toBe("M0.0 10.0H50.0V0.0H100.0");
  });

  it("leaves out what is not finite", () => {
    const points = [point(0, -Infinity), point(50, 1)];
    expect(stairs(points, box, scaleOf(points, 10, 0))).toMatch(/^M50\.0/);
  });
});

describe("the last point", () => {
  const points = [point(3, 1), point(7, 2)];
  it.each([
    [2, undefined],
    [3, 1],
    [6, 1],
    [7, 2],
    [99, 2],
  ])("up to %i is %s", (step, value) => {
    expect(last(points, step)?.value).toBe(value);
  });
});

describe("m and d of a thread", () => {
  it("only rise and only by corrections that are drawn", () => {
    const { m, beads } = new Seen(lane).curve(0);
    const values = m!.points.map((one) => one.value).filter(Number.isFinite);
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(beads.length).toBeGreaterThan(0);
    for (const bead of beads) expect(bead.value).toBeGreaterThan(0);
  });

  it("make the sum right at once: old sum times factor, and what is new", () => {
    const { d, beads } = new Seen(lane).curve(0);
    for (const bead of beads) {
      const before = last(d!.points, bead.step - 1)!.value;
      const after = last(d!.points, bead.step)!.value;
      expect(after).toBeCloseTo(before * bead.value + 1, 5); // the new maximum adds exp(0)
    }
  });

  it("have no corrections in a kernel that finds m first", () => {
    expect(new Seen(safe).curve(0).beads).toEqual([]);
  });
});
