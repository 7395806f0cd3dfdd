import { describe, expect, it } from "vitest";

import { FIRST_LAUNCH, type Slot, pairs, requestOf, rowsOf } from "../../src/view/state";

const slot = (change: Partial<Slot>): Slot => ({
  id: 1,
  key: "relu",
  title: "",
  text: "a",
  original: "a",
  sequence: "",
  ...change,
});

describe("a launch that is typed", () => {
  it.each([
    ["TILE=64", { TILE: "64" }],
    ["TILE=64 K=3", { TILE: "64", K: "3" }],
    ["A = 1, B=2+2", { A: "1", B: "2+2" }],
    ["FAST", { FAST: "1" }],
    ["", {}],
  ])("%j names macros", (text, found) => {
    expect(pairs(text)).toEqual(found);
  });

  it("has rows of numbers, with words for those that JSON lacks", () => {
    expect(rowsOf("1, -2.5 -inf\nnan inf 0\n")).toEqual([
      [1, -2.5, "-Infinity"],
      ["NaN", "Infinity", 0],
    ]);
    expect(rowsOf("  \n")).toBeNull();
  });

  it("takes its shape from numbers that are given", () => {
    const request = requestOf([slot({})], { ...FIRST_LAUNCH, numbers: "1 2 3" });
    expect([request.rows, request.vocab]).toEqual([1, 3]);
  });
});

describe("a kernel that is asked for", () => {
  const asked = (...slots: Slot[]) => requestOf(slots, FIRST_LAUNCH).kernels;

  it("goes by its key alone while it is the gallery's", () => {
    expect(asked(slot({}))).toEqual([{ key: "relu" }]);
  });

  it("keeps its key when it was edited, so that its arguments stay known", () => {
    expect(asked(slot({ text: "b" }))).toEqual([{ key: "relu", text: "b" }]);
  });

  it("goes by a name when it is one's own", () => {
    expect(asked(slot({ key: "kernel.cu" }))).toEqual([{ name: "kernel.cu", text: "a" }]);
  });

  it("of a sequence is asked for once", () => {
    const one = slot({ key: "a", sequence: "both" });
    expect(asked(one, slot({ key: "b", sequence: "both" }))).toEqual([{ key: "both" }]);
  });
});
