/** A playhead over a recording. Knows no clock and no view. */

import type { Fault } from "../schema";
import { countUpTo } from "./numbers";
import type { Finding, Recording } from "./recording";
import { stopsOf } from "./stops";
import type { Unit, WarpId } from "./types";

/** A playhead. Every move costs the same, wherever it goes. */
export class Player {
  readonly recording: Recording;
  /** What a move without an argument moves by. */
  unit: Unit = "memory";
  #follow: WarpId | null = null;
  #at = -1;
  readonly #stops = new Map<Unit, Int32Array>();

  constructor(recording: Recording) {
    this.recording = recording;
  }

  /** The step that has just been made, -1 before the first. */
  get at(): number {
    return this.#at;
  }

  /** A warp whose steps alone are looked at; null for all. */
  get follow(): WarpId | null {
    return this.#follow;
  }

  set follow(warp: WarpId | null) {
    this.#follow = warp;
    this.#stops.clear();
  }

  /** Go to the next place of a unit; false where there is none. */
  forward(unit: Unit = this.unit): boolean {
    return this.#ahead(this.stops(unit));
  }

  /** Go to the previous place of a unit; false where there is none. */
  back(unit: Unit = this.unit): boolean {
    return this.#behind(this.stops(unit));
  }

  /** Go to a step; those beyond the ends become the first or the last. */
  jump(step: number): void {
    this.#at = Math.max(-1, Math.min(this.recording.length - 1, Math.trunc(step)));
  }

  /** Go to the next execution of a line; false where there is none. */
  nextHit(line: number): boolean {
    return this.#ahead(this.recording.hits(line));
  }

  previousHit(line: number): boolean {
    return this.#behind(this.recording.hits(line));
  }

  /** Go to the nth execution of a line, from 1, or to the last one; false where it has none. */
  hit(line: number, nth: number): boolean {
    const hits = this.recording.hits(line);
    const step = hits[Math.min(nth, hits.length) - 1];
    if (step !== undefined) this.jump(step);
    return step !== undefined;
  }

  /** Go to the next finding and return it; undefined where there is none. */
  nextFinding(): Fault | undefined {
    return this.#show(this.recording.findings.find(({ step }) => step > this.#at));
  }

  previousFinding(): Fault | undefined {
    return this.#show(this.recording.findings.findLast(({ step }) => step < this.#at));
  }

  /** The line here, and which of its executions this is, from 1. */
  place(): { line: number; hit: number } | undefined {
    if (this.#at < 0) return undefined;
    const { line } = this.recording.step(this.#at);
    return { line, hit: countUpTo(this.recording.hits(line), this.#at) };
  }

  /** Steps at which a move by a unit stops, in order. */
  stops(unit: Unit = this.unit): Int32Array {
    let stops = this.#stops.get(unit);
    if (stops === undefined) {
      stops = stopsOf(this.recording, unit, this.#follow);
      this.#stops.set(unit, stops);
    }
    return stops;
  }

  #ahead(stops: Int32Array): boolean {
    return this.#go(stops[countUpTo(stops, this.#at)]);
  }

  #behind(stops: Int32Array): boolean {
    return this.#go(stops[countUpTo(stops, this.#at - 1) - 1]);
  }

  #go(step: number | undefined): boolean {
    if (step === undefined) return false;
    this.#at = step;
    return true;
  }

  #show(finding: Finding | undefined): Fault | undefined {
    if (finding !== undefined) this.jump(finding.step);
    return finding?.fault;
  }
}
