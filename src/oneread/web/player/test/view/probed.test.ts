import { describe, expect, it } from "vitest";

import type { Fault } from "../../src/model";
import { type Probed, distinct, isAmong, typed } from "../../src/view/findings/probed";

const fault = (change: Partial<Fault>): Fault =>
  ({ id: "race-warps", line: 48, with_line: 46, parameters: {}, ...change }) as Fault;

const probed = (change: Partial<Fault>, rows = 2, vocab = 64): Probed => ({
  fault: fault(change),
  command: `--rows ${rows} --vocab ${vocab}`,
  launch: { rows, vocab },
});

describe("what a probe found", () => {
  it("has each fault once, with its smallest launch", () => {
    const all = [probed({}, 4, 64), probed({ line: 46, with_line: 48 }, 2, 32), probed({}, 4, 128)];
    expect(distinct(all).map((one) => one.command)).toEqual(["--rows 2 --vocab 32"]);
  });

  it("tells faults of other lines and kinds apart", () => {
    const all = [probed({}), probed({ line: 50 }), probed({ id: "race-lanes" })];
    expect(distinct(all)).toHaveLength(3);
  });

  it("takes all wrong results for one, but those that are NaN", () => {
    const wrong = (got: string, line: number) =>
      probed({ id: "wrong-result", line, parameters: { got } });
    const all = [wrong("0.5", 60), wrong("0.1", 61), wrong("nan", 60)];
    expect(distinct(all)).toHaveLength(2);
  });

  it("knows what the run on the page shows, too", () => {
    expect(isAmong(fault({ line: 46, with_line: 48 }), [fault({})])).toBe(true);
    expect(isAmong(fault({ line: 1, with_line: null }), [fault({})])).toBe(false);
  });
});

describe("a launch of a probe", () => {
  it("is typed as a person would", () => {
    const launch = {
      rows: 4, vocab: 250, k: 5, defines: { TILE: 64, FAST: "1" }, grid: null, block: [32, 4],
      input: "normal", schedule: "random:3",
    };
    expect(typed(launch)).toMatchObject({
      rows: "4", vocab: "250", defines: "TILE=64 FAST=1", grid: "", block: "32,4",
      schedule: "random:3",
    });
  });
});
