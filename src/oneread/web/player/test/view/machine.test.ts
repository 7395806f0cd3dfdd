import { describe, expect, it } from "vitest";

import { Player, type Recording, requests } from "../../src/model";
import { brief } from "../../src/view/machine/cells";
import { COLUMNS, contentsOf } from "../../src/view/machine/contents";
import { arcs, bits, flows } from "../../src/view/machine/flows";
import { type Plan, corner, fits, hit, isSame, plans } from "../../src/view/machine/plan";
import { Seen } from "../../src/view/seen";
import { recordingOf } from "../model/traces";

const safe = recordingOf("safe_softmax_tiled", "--rows", "2", "--vocab", "128", "-D", "TILE=64");
const tail = recordingOf(
  "online_softmax_tiled_racy",
  "--rows",
  "2",
  "--vocab",
  "100",
  "-D",
  "TILE=64",
);

function planned(...recordings: Recording[]): Plan[] {
  const contents = recordings.map((one) => ({
    ...contentsOf(new Seen(one), new Map(), 0),
    passes: 3,
  }));
  return plans(contents, 300, 16, 60, 2);
}

/** The first step of a kind, with what it asks for. */
function stepWith(recording: Recording, fits: (all: ReturnType<typeof requests>) => boolean) {
  const player = new Player(recording);
  while (player.forward()) {
    const all = requests(recording, player.at);
    if (fits(all)) return all;
  }
  throw new Error("no such step");
}

describe("a plan", () => {
  it("puts the bands of all kernels at the same heights", () => {
    const [one, other] = planned(safe, tail);
    expect(one!.bands).toEqual(other!.bands);
  });

  it("lays no two plots over each other", () => {
    for (const plan of planned(safe, tail)) {
      const boxes = plan.plots.map((plot) => {
        const [, last] = corner(plot, plot.count - 1);
        const right = plot.x + Math.min(plot.count, COLUMNS) * plot.w;
        return { left: plot.x, right, top: plot.y, bottom: last + plot.h };
      });
      for (const [at, a] of boxes.entries()) {
        for (const b of boxes.slice(at + 1)) {
          const apart =
            a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
          expect(apart).toBe(true);
        }
      }
    }
  });

  it("keeps every plot within its band", () => {
    for (const plan of planned(safe, tail)) {
      for (const plot of plan.plots) {
        const band = plan.bands.find((one) => one.band === plot.band)!;
        expect(plot.y).toBeGreaterThan(band.top);
        expect(corner(plot, plot.count - 1)[1] + plot.h).toBeLessThanOrEqual(band.bottom);
      }
    }
  });

  it("finds the cell under a point again", () => {
    const [plan] = planned(safe);
    for (const plot of plan!.plots) {
      const [x, y] = corner(plot, plot.count - 1);
      expect(hit(plan!, x + 1, y + 1)).toEqual({ plot, index: plot.count - 1 });
    }
  });

  it("of another row has its cells at the same places", () => {
    const [one] = planned(safe);
    const [again] = planned(safe);
    expect(isSame(one!, again!)).toBe(true);
    const rows = new Map(safe.buffers.map(({ index }) => [index, { row: 1, line: 0 }]));
    const contents = { ...contentsOf(new Seen(safe), rows, 0), passes: 3 };
    const [other] = plans([contents], 300, 16, 60, 2);
    expect(isSame(one!, other!)).toBe(false);
    expect(fits(one!, other!)).toBe(true);
    expect(fits(one!, plans([contents], 400, 16, 60, 2)[0]!)).toBe(false);
  });

  it("shows the first cells of the next row behind a tail", () => {
    const [plan] = planned(tail);
    const x = plan!.plots.find((one) => one.label === "x")!;
    expect(x.own).toBe(100);
    expect(x.count).toBe(128);
  });
});

describe("a request", () => {
  it("that lies side by side falls straight down in one piece", () => {
    const [plan] = planned(safe);
    const [load] = stepWith(safe, (all) => all[0]?.buffer.space === "global");
    const found = flows(plan!, load!);
    expect(found).toHaveLength(1);
    expect(found[0]!.cells).toEqual(found[0]!.lanes);
  });

  it("of one cell for all lanes fans out", () => {
    const [plan] = planned(safe);
    const all = stepWith(safe, (one) => one.some((two) => two.together && two.laneCount === 32));
    const [flow] = flows(
      plan!,
      all.find((one) => one.together)!,
    );
    expect(flow!.lanes[1] - flow!.lanes[0]).toBeGreaterThan(10 * (flow!.cells[1] - flow!.cells[0]));
  });

  it("of a tree becomes arcs from the upper half to the lower", () => {
    const [plan] = planned(safe);
    const tree = stepWith(safe, (all) => all.length === 3 && all[0]!.laneCount < 32);
    const found = arcs(plan!, tree);
    expect(found).toHaveLength(tree[0]!.laneCount);
    for (const { from, to } of found) expect(from[0]).toBeGreaterThan(to[0]);
  });
});

describe("a mask", () => {
  it("is read to its highest lane", () => {
    expect(bits(0x8000_0001 | 0)).toEqual([0, 31]);
  });
});

describe("a number in a cell", () => {
  it.each([
    [0, "0"],
    [-0.5, "−.50"],
    [3.14159, "3.14"],
    [273.2, "273"],
    [0.00012, "1e−4"],
    [-64, "−64"],
  ])("%d is %s", (value, text) => {
    expect(brief(value)).toBe(text);
  });
});
