import { describe, expect, it } from "vitest";

import {
  type Link, decodeLink, encodeLink, faultText, laneList, sentence, short,
} from "../../src/model";
import { ranges } from "../../src/model/numbers";
import { recordingOf } from "./traces";

const racy = recordingOf(
  "online_softmax_tiled_racy", "--rows", "2", "--vocab", "128", "-D", "TILE=64",
);

function sentences(recording: typeof racy): string[] {
  return Array.from({ length: recording.length }, (_, step) => sentence(recording, step));
}

describe("a sentence", () => {
  const all = sentences(racy);

  it("says that nothing has run", () => {
    expect(sentence(racy, -1)).toBe("Nothing has run yet.");
  });

  it("names block, warp, line, cells and cost of a load", () => {
    const load = all.find((one) => one.includes("read x["))!;
    expect(load).toMatch(/^Block 0, warp 0, line \d+: 32 lanes read x\[0\.\.31\], 4 sectors; /);
    expect(load).toContain("32 lanes write tile[0..31]");
  });

  it("counts who has come to a barrier", () => {
    const said = all.join("\n");
    expect(said).toContain("waits at the barrier, 1 of 2 warps are there");
    expect(said).toContain("comes last to the barrier, all warps go on");
  });

  it("has the value of a variable that all lanes share", () => {
    expect(all.some((one) => /m_new is now -?\d/.test(one))).toBe(true);
  });

  it("leaves addresses out", () => {
    expect(all.join()).not.toMatch(/x_row is/);
  });

  it("tells a fault in the words of the catalogue", () => {
    const race = racy.run.faults.find(({ id }) => id === "race-warps")!;
    const messages = { "race-warps": { text: "{hazard} on {buffer}[{index}], line {line}" } };
    const { hazard } = race.parameters;
    expect(faultText(race, messages)).toBe(`${String(hazard)} on scratch[0], line ${race.line}`);
    const told = sentence(racy, racy.indexOf(race.step), messages);
    expect(told).toContain(`Fault: ${String(hazard)} on scratch[0]`);
  });

  it("names a shuffle", () => {
    const warp = recordingOf("online_softmax_warp", "--rows", "1", "--vocab", "128");
    expect(sentences(warp).some((one) => one.includes("by __shfl_xor_sync"))).toBe(true);
  });

  it("says so where a load is scattered", () => {
    const odd = recordingOf("safe_softmax", "--rows", "2", "--vocab", "100");
    expect(sentences(odd).join("\n")).toMatch(/read x\[.+\], 5 sectors where 4 would do/);
  });
});

describe("numbers in words", () => {
  it.each([
    [0, "0"], [7.071234, "7.07"], [0.10598, "0.106"], [-Infinity, "−∞"], [NaN, "NaN"],
    [1e-9, "1.00e−9"], [-0.338, "−0.338"], [123456, "123456"], [12345.678, "12345.7"],
    [2n ** 63n, "9223372036854775808"],
  ])("%s is %s", (value, text) => {
    expect(short(value)).toBe(text);
  });

  it("names lanes by ranges", () => {
    expect(laneList(0xff | (1 << 12))).toBe("0-7, 12");
    expect(laneList(0)).toBe("none");
    expect(laneList(0xffff_ffff)).toBe("0-31");
  });

  it("keeps an irregular list of places apart", () => {
    expect(ranges([0, 5, 9])).toEqual([
      { low: 0, high: 0, stride: 1 },
      { low: 5, high: 5, stride: 1 },
      { low: 9, high: 9, stride: 1 },
    ]);
    expect(ranges([0, 8, 16, 24])).toEqual([{ low: 0, high: 24, stride: 8 }]);
  });
});

describe("a link", () => {
  const link: Link = {
    kernels: [
      { key: "safe_softmax_tiled" }, { key: "mine", text: `${racy.run.source.text}// é 漢` },
    ],
    launch: { rows: "4", vocab: "250", k: "5", "D.TILE": "64", schedule: "random 3" },
    place: { kernel: 1, line: 46, hit: 3 },
    view: "lesson",
  };

  it("comes back as it was", async () => {
    expect(await decodeLink(`#${await encodeLink(link)}`)).toEqual(link);
  });

  it("is short: a source is compressed, one that was not edited is not there", async () => {
    const text = await encodeLink(link);
    expect(text.length).toBeLessThan(racy.run.source.text.length);
    expect(text).not.toContain("src0");
  });

  it.each([
    "", "#", "view=lesson", "kernel=a&at=1.2", "kernel=a&at=0.0.1", "kernel=a&at=3.1.1",
    "kernel=a&src0=%21", "kernel=a&src0=AAAA",
  ])("is none: %s", async (hash) => {
    expect(await decodeLink(hash)).toBeNull();
  });

  it("is none where it was cut", async () => {
    const text = await encodeLink(link);
    expect(await decodeLink(text.slice(0, -40))).toBeNull();
  });

  it("is none where its source would fill the page's memory", async () => {
    await expect(encodeLink({ ...link, kernels: [{ key: "a", text: " ".repeat(2e6) }] }))
      .rejects.toThrow(RangeError);
    const deflate = new CompressionStream("deflate");
    const stream = new Blob([" ".repeat(2e6)]).stream().pipeThrough(deflate);
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    const packed = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
    expect(await decodeLink(`kernel=a&src0=${packed.replaceAll("=", "")}`)).toBeNull();
  });

  it("does not let a launch take its own names", async () => {
    await expect(encodeLink({ ...link, launch: { view: "x" } })).rejects.toThrow(RangeError);
  });
});
