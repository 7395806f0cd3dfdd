import { describe, expect, it } from "vitest";

import { extentOf } from "../../src/model";
import { recordingOf } from "./traces";

const recording = recordingOf("online_softmax_lane", "--rows", "2", "--vocab", "128");
const masked = recordingOf(
  "online_softmax_lane", "--rows", "1", "--vocab", "64", "--input", "all-inf",
);

describe("an extent", () => {
  it("of an input is that of its numbers", () => {
    const x = recording.buffers.find((one) => one.name === "x")!;
    const values = [...recording.state(-1).cells(x, 0, x.cells).values];
    expect(extentOf(recording, "global", "x")).toEqual([Math.min(...values), Math.max(...values)]);
  });

  it("of an output is that of what is stored", () => {
    const y = recording.buffers.find((one) => one.name === "y")!;
    const values = [...recording.state(recording.length - 1).cells(y, 0, y.cells).values];
    expect(extentOf(recording, "global", "y")).toEqual([Math.min(...values), Math.max(...values)]);
  });

  it("of a variable holds each value that a lane has of it", () => {
    const [low, high] = extentOf(recording, "register", "d_lane");
    for (let step = 0; step < recording.length; step += 7) {
      for (const at of recording.allWarps()) {
        const held = recording.state(step).register(at, "d_lane");
        held?.values.forEach((value, lane) => {
          if (!((held.set >>> lane) & 1)) return;
          expect(Number(value)).toBeGreaterThanOrEqual(low);
          expect(Number(value)).toBeLessThanOrEqual(high);
        });
      }
    }
  });

  it("is of finite values, and from 0 to 1 where there are none", () => {
    expect(extentOf(masked, "global", "x")).toEqual([0, 1]);
    expect(extentOf(masked, "register", "nothing")).toEqual([0, 1]);
  });
});
