/** Every phrase of the model, in one place. Another language is another object of this type. */

import type { WarpId } from "./types";

interface Asked {
  readonly lanes: number;
  /** For example `x[32..63]`. */
  readonly cells: string;
}

export const english = {
  start: "Nothing has run yet.",
  where: ({ block, warp, line }: WarpId & { readonly line: number }) =>
    `Block ${block}, warp ${warp}, line ${line}`,
  load: ({ lanes, cells }: Asked) =>
    lanes === 1 ? `1 lane reads ${cells}` : `${lanes} lanes read ${cells}`,
  store: ({ lanes, cells }: Asked) =>
    lanes === 1 ? `1 lane writes ${cells}` : `${lanes} lanes write ${cells}`,
  atomic: ({ lanes, cells }: Asked) =>
    lanes === 1 ? `1 lane updates ${cells}` : `${lanes} lanes update ${cells}`,
  sectors: (count: number) => (count === 1 ? "1 sector" : `${count} sectors`),
  scattered: (count: number, ideal: number) => `${count} sectors where ${ideal} would do`,
  conflict: (count: number, ideal: number) => `${count} wavefronts where ${ideal} would do`,
  strays: (count: number) =>
    count === 1 ? "1 element is of another row" : `${count} elements are of another row`,
  more: (count: number) => (count === 1 ? "and 1 more place" : `and ${count} more places`),
  becomes: (name: string, value: string) => `${name} is now ${value}`,
  set: (name: string, lanes: number) =>
    lanes === 1 ? `${name} is set in 1 lane` : `${name} is set in ${lanes} lanes`,
  exchange: (name: string) => `lanes hand values to each other by ${name}`,
  branch: "the other lanes do not take this branch",
  arrives: (come: number, all: number) => `waits at the barrier, ${come} of ${all} warps are there`,
  released: "comes last to the barrier, all warps go on",
  computes: "computes and touches no memory",
  fault: (text: string) => `Fault: ${text}`,
  bead: (before: string, after: string, factor: string) =>
    `× exp(${before} − ${after.startsWith("−") ? `(${after})` : after}) = ${factor}`,
  bareBead: (factor: string) => `× ${factor}`,
  corrected: (before: string, after: string) =>
    `d was summed against ${before}. One multiplication makes it a sum against ${after}.`,
  correctedTerms: (terms: number, before: string, after: string) =>
    (terms === 1
      ? `The one term in d was computed against ${before}. `
      : `The ${terms} terms in d were computed against ${before}. `) +
    `One multiplication makes it a sum against ${after}.`,
  stays: (maximum: string) => `The maximum stays ${maximum}: the factor is 1, d is right as it is.`,
  empty: "There was no maximum before: the factor is 0, d starts anew.",
  multiplied: (factor: string) => `d is multiplied by ${factor}.`,
  nothing: "The two maxima have no difference: the factor is NaN, and d with it.",
};

export type Words = typeof english;
