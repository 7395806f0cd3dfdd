import { describe, expect, it } from "vitest";

import { requests } from "../../src/model";
import {
  WHOLE,
  axisOf,
  between,
  holding,
  isWhole,
  panned,
  shareAt,
  zoomed,
} from "../../src/view/deck/axis";
import { Kind, kindsOf } from "../../src/view/deck/kinds";
import { Seen } from "../../src/view/seen";
import { stretches } from "../../src/view/stretches";
import { recordingOf } from "../model/traces";

const TILED = ["--rows", "2", "--vocab", "128", "-D", "TILE=32"];
const safe = recordingOf("safe_softmax_tiled", ...TILED);
const racy = recordingOf("online_softmax_tiled_racy", ...TILED);

describe("a span of the timeline", () => {
  it("keeps what it is zoomed around where it is", () => {
    const span = zoomed({ from: 0.2, to: 0.6 }, 0.5, 0.3, 0);
    expect(span.to - span.from).toBeCloseTo(0.2);
    expect((0.3 - span.from) / (span.to - span.from)).toBeCloseTo(0.25);
  });

  it("is never more than the run, and never less than the least", () => {
    expect(zoomed({ from: 0.2, to: 0.9 }, 4, 0.5, 0)).toEqual(WHOLE);
    const { from, to } = zoomed(WHOLE, 1e-9, 0.5, 0.01);
    expect(to - from).toBeCloseTo(0.01);
    expect(isWhole(zoomed(WHOLE, 0.5, 0, 3))).toBe(true);
  });

  it("stops at the ends of the run", () => {
    expect(panned({ from: 0.5, to: 0.7 }, 9)).toEqual({ from: expect.closeTo(0.8), to: 1 });
    expect(panned({ from: 0.5, to: 0.7 }, -9).from).toBe(0);
  });

  it("follows a playhead that leaves it, and only then", () => {
    const span = { from: 0.2, to: 0.4 };
    expect(holding(span, 0.4)).toBe(span);
    const next = holding(span, 0.41);
    expect(next.from).toBeLessThan(0.41);
    expect(next.to).toBeGreaterThan(0.41);
    expect(next.to - next.from).toBeCloseTo(0.2);
  });

  it("is drawn from either side", () => {
    expect(between(0.6, 0.2, 0)).toEqual({ from: expect.closeTo(0.2), to: expect.closeTo(0.6) });
    const { from, to } = between(0.5, 0.5, 0.1);
    expect(to - from).toBeCloseTo(0.1);
  });
});

describe("the axis", () => {
  it("is of steps for one kernel, of bytes for several", () => {
    const [one, other] = [new Seen(safe), new Seen(racy)];
    expect(axisOf([one])).toMatchObject({ kind: "steps", end: safe.length - 1 });
    expect(axisOf([one, other])).toMatchObject({ kind: "bytes", end: one.allBytes });
  });

  it("ends where the last playhead can be", () => {
    const one = new Seen(safe);
    one.player.jump(safe.length - 1);
    expect(shareAt(axisOf([one]), [one])).toBe(1);
  });
});

describe("stretches", () => {
  it("are the passes of each block in order, with their tiles", () => {
    const found = stretches(racy);
    expect(found.map(({ block, number }) => [block, number])).toEqual([
      [0, 1], [0, 2], [1, 1], [1, 2],
    ]);
    expect(found[0]!.tiles.map((one) => one.tile)).toEqual([0, 1, 2, 3]);
  });

  it("have a tile once that warps begin together, and again where one comes later", () => {
    const two = ["--rows", "1", "--vocab", "128", "-D", "TILE=64"];
    const tiles = (key: string): number[] =>
      stretches(recordingOf(key, ...two))[0]!.tiles.map((one) => one.tile);
    expect(tiles("online_softmax_tiled_racy")).toEqual([0, 1]);
    expect(tiles("safe_softmax_tiled")).toEqual([0, 1, 0, 1]);
  });
});

describe("the kind of a step", () => {
  it("is what counts most in it", () => {
    const kinds = kindsOf(racy);
    const [load] = stretches(racy);
    expect(kinds[load!.first]).toBe(Kind.Load);
    const stores = requests(racy, kinds.lastIndexOf(Kind.Store));
    expect(stores.at(-1)).toMatchObject({ kind: "store", buffer: { name: "y" } });
    expect(new Set(kinds).size).toBe(5);
  });
});
