/**
 * The model of the player: what a trace file says, step by step. No DOM, no drawing, no network.
 *
 * ```ts
 * const [recording] = decode(trace);
 * const player = new Player(recording);
 * player.forward();                          // to the next memory operation
 * const state = recording.state(player.at);  // buffers, registers, who waits
 * requests(recording, player.at);            // what this step asks of memory
 * sentence(recording, player.at);            // the same in words
 * ```
 */

export type {
  Counts, Fault, Judgement, Launch, Num, Run, Severity, Trace, Watch,
} from "../schema";
export type * from "./answers";
export type * from "./types";
export { UNITS } from "./types";

export { type Finding, Recording, decode } from "./recording";
export { Player } from "./player";

export { requests } from "./requests";
export { exchange } from "./exchange";
export { type Messages, cellsText, faultText, sentence } from "./sentence";
export { type Words, english } from "./words";

export { mainBuffer, mainPasses, passNumbers, passes } from "./passes";
export { passLists } from "./passlists";
export { type Extent, extentOf } from "./extents";
export { series } from "./series";
export { lesson } from "./lesson";
export { type Thread, type Variable, isWatchable, variables, watched } from "./watched";

export { bytesOf, compare, ledger } from "./ledger";
export { level, totalBytes } from "./level";
export { decodeLink, encodeLink } from "./link";

export { laneList, lanesOf, popcount, short } from "./numbers";
