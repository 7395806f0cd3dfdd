/** The numbers of a trace file, out of base64. Knows no step and no buffer. */

import type { Pool, Run, Vector } from "../schema";
import type { Value } from "./types";

const FLOATING = new Set(["f", "d", "float", "double"]);
const WIDE = new Set(["Q", "unsigned long long", "unsigned long", "size_t"]);

/** Vectors of numbers, by the place of the first. */
export class Pools {
  readonly #floats: Float32Array;
  readonly #integers: BigInt64Array;
  readonly #patterns: Float64Array;

  constructor(pools: Run["pools"]) {
    this.#floats = new Float32Array(bytes(pools.floats));
    const integers = bytes(pools.integers);
    this.#integers = new BigInt64Array(integers);
    this.#patterns = new Float64Array(integers);
  }

  /** Return an integer that is a place or a mask, and so is small. */
  integer(place: number): number {
    return Number(this.#integers[place]);
  }

  /** Return a number as a double, whatever its type; beyond 2^53 it is rounded. */
  number(pool: Pool, place: number, type: string): number {
    if (pool === 1) return this.#floats[place]!;
    if (pool === 2 && FLOATING.has(type)) return this.#patterns[place]!;
    return Number(this.#whole(place, type));
  }

  /** Return a number as it is. */
  value(pool: Pool, place: number, type: string): Value {
    const double = this.number(pool, place, type);
    if (Number.isSafeInteger(double) || pool === 1 || FLOATING.has(type)) return double;
    return this.#whole(place, type);
  }

  /** Return the numbers of a vector, as doubles; types are those of the cells of an element. */
  vector(vector: Vector, types: readonly string[]): Float64Array {
    return Float64Array.from({ length: vector.count }, (_, index) =>
      this.number(vector.pool, vector.at + index, types[index % types.length]!),
    );
  }

  #whole(place: number, type: string): bigint {
    const value = this.#integers[place]!;
    return WIDE.has(type) ? BigInt.asUintN(64, value) : value;
  }
}

/** Return the bytes behind base64. They are little-endian, as every machine with a browser is. */
function bytes(text: string): ArrayBuffer {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let index = 0; index < raw.length; index++) out[index] = raw.charCodeAt(index);
  return out.buffer;
}
