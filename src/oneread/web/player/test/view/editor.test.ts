import { describe, expect, it } from "vitest";

import { switched } from "../../src/view/editor/gutters";

describe("a barrier's switch", () => {
  it("takes the barrier out and puts it back as it was", () => {
    const line = "        __syncthreads();  // wrote: each lane its own";
    expect(switched(line)).toBe("        // __syncthreads();  // wrote: each lane its own");
    expect(switched(switched(line)!)).toBe(line);
  });

  it("is not there on other lines", () => {
    expect(switched("    if (lane == 0) __syncthreads();")).toBeNull();
    expect(switched("    // about __syncthreads()")).toBeNull();
  });
});
