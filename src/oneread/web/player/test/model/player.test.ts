import { describe, expect, it } from "vitest";

import { Player, UNITS, type Unit, mainPasses, requests } from "../../src/model";
import { recordingOf } from "./traces";

const TILED = ["--rows", "2", "--vocab", "128", "-D", "TILE=64"];
const safe = recordingOf("safe_softmax_tiled", ...TILED);
const racy = recordingOf("online_softmax_tiled_racy", ...TILED);
const lane = recordingOf("online_softmax_lane", "--rows", "2", "--vocab", "100", "-D", "TILE=64");

/** All places at which a player stops, from the start. */
function walk(player: Player, unit: Unit): number[] {
  const found: number[] = [];
  while (player.forward(unit)) found.push(player.at);
  return found;
}

describe("a player", () => {
  it("starts before the first step", () => {
    const player = new Player(racy);
    expect(player.at).toBe(-1);
    expect(player.place()).toBeUndefined();
    expect(player.back()).toBe(false);
  });

  it.each(UNITS)("goes back by %s to where it came from", (unit) => {
    const player = new Player(racy);
    const there = walk(player, unit);
    const back = [player.at];
    while (player.back(unit)) back.push(player.at);
    expect(back.reverse()).toEqual(there);
    expect(there.length).toBeGreaterThan(1);
  });

  it("moves by memory operations where nothing else is said", () => {
    const player = new Player(racy);
    while (player.forward()) expect(requests(racy, player.at)).not.toEqual([]);
    expect(walk(new Player(racy), "memory").length).toBeLessThan(racy.length);
  });

  it("moves by statement through every step", () => {
    expect(walk(new Player(racy), "statement")).toHaveLength(racy.length);
  });

  it("stops at each barrier once, when the last warp comes", () => {
    const stops = walk(new Player(racy), "barrier");
    expect(stops).toHaveLength(racy.run.counts.barriers);
    for (const stop of stops) {
      expect(racy.state(stop).waiting(racy.step(stop).block)).toMatchObject({ complete: true });
    }
  });

  it("stops at three passes a row of the safe kernel and two of the online ones", () => {
    expect(walk(new Player(safe), "pass")).toHaveLength(3 * 2);
    expect(walk(new Player(racy), "pass")).toHaveLength(2 * 2);
    expect(walk(new Player(lane), "pass")).toHaveLength(2 * 2);
  });

  it("stops at each tile of a block once", () => {
    expect(walk(new Player(racy), "tile")).toHaveLength(2 * 2 * 2);
  });

  it("looks at one warp alone where it follows one", () => {
    const player = new Player(racy);
    player.follow = { block: 1, warp: 1 };
    for (const unit of UNITS) {
      player.jump(-1);
      const stops = walk(player, unit);
      expect(stops.length).toBeGreaterThan(0);
      for (const stop of stops) expect(racy.step(stop)).toMatchObject({ block: 1, warp: 1 });
    }
    player.follow = null;
    player.jump(-1);
    expect(walk(player, "statement")).toHaveLength(racy.length);
  });

  it("stays within the recording", () => {
    const player = new Player(racy);
    player.jump(1e9);
    expect(player.at).toBe(racy.length - 1);
    player.jump(-7);
    expect(player.at).toBe(-1);
  });
});

describe("hits of a line", () => {
  const line = 1 + racy.run.source.text.split("\n").findIndex((one) => one.includes("m_new = "));

  it("are gone through in order, and counted", () => {
    const player = new Player(racy);
    const hits: number[] = [];
    while (player.nextHit(line)) hits.push(player.place()!.hit);
    expect(hits).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(player.previousHit(line)).toBe(true);
    expect(player.place()).toEqual({ line, hit: 7 });
  });

  it("are found by their number, the last one where there are fewer", () => {
    const player = new Player(racy);
    expect(player.hit(line, 3)).toBe(true);
    expect(player.place()).toEqual({ line, hit: 3 });
    expect(player.hit(line, 99)).toBe(true);
    expect(player.place()).toEqual({ line, hit: 8 });
    expect(player.hit(1, 1)).toBe(false);
  });
});

describe("findings", () => {
  it("lead to the step where the race was seen", () => {
    const player = new Player(racy);
    const race = racy.run.faults.find(({ id }) => id === "race-warps")!;
    let fault = player.nextFinding();
    while (fault !== undefined && fault !== race) fault = player.nextFinding();
    expect(fault).toBe(race);
    expect(racy.step(player.at)).toMatchObject({
      number: race.step, line: race.line, warp: race.warp, block: race.block,
    });
  });

  it("are gone through backwards too", () => {
    const player = new Player(racy);
    player.jump(racy.length - 1);
    const seen = [];
    for (let fault = player.previousFinding(); fault; fault = player.previousFinding()) {
      seen.push(fault.id);
    }
    expect(seen).toContain("race-warps");
  });

  it("of a barrier that not all reach lead to who waits, and to who left", () => {
    const broken = recordingOf("zoo_barrier_in_branch", "--rows", "1", "--vocab", "100");
    const shown = (id: string) => broken.findings.find(({ fault }) => fault.id === id)!;
    const divergence = shown("barrier-divergence");
    expect(broken.step(divergence.step).line).toBe(divergence.fault.line);
    const exited = shown("barrier-exited");
    const left = broken.machine.stepsOf({ block: 0, warp: exited.fault.warp }).at(-1);
    expect(exited.step).toBe(left);
  });
});

describe("passes", () => {
  it("of each warp follow one another and cover its work from the first load", () => {
    const ours = mainPasses(safe).filter(({ block, warp }) => block === 0 && warp === 1);
    expect(ours.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(ours[0]!.last).toBeLessThan(ours[1]!.first);
    expect(ours[2]!.last).toBe(safe.machine.stepsOf({ block: 0, warp: 1 }).at(-1));
  });

  it("load each element that the warp is there for", () => {
    for (const pass of mainPasses(safe)) expect(pass.loads).toBe(64);
  });

  it("store in the last one only", () => {
    const stores = mainPasses(safe).map(({ number, stores: count }) => [number, count]);
    for (const [number, count] of stores) expect(count).toBe(number === 3 ? 64 : 0);
  });

  it("have tiles that lie side by side", () => {
    const [first] = mainPasses(safe);
    expect(first!.tiles.map(({ low, high }) => [low, high])).toEqual([[0, 31], [64, 95]]);
  });

  it("count readings of a row and not lines of the source", () => {
    const warp = recordingOf("online_softmax_warp", "--rows", "2", "--vocab", "101");
    const ours = mainPasses(warp).filter((one) => one.block === 0 && one.warp === 1);
    expect(ours.map(({ number }) => number)).toEqual([1, 2]);
    expect(ours[0]!.lines.length).toBeGreaterThan(1);
    expect(ours.map(({ loads }) => loads)).toEqual([101, 101]);
  });
});
