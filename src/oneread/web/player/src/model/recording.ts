/** A launch as it was recorded: its steps, what happened in them, and indexes over both. */

import type { Fault, Run, Trace } from "../schema";
import { buffersOf } from "./buffers";
import { type Columns, type Operation, columnsOf } from "./columns";
import { WARP, countUpTo } from "./numbers";
import { Pools } from "./pools";
import { sharingOf } from "./sharing";
import { Machine } from "./state";
import type { Buffer, State, Step, WarpId } from "./types";

/** Faults that are judged once all warps have come to a barrier: of the step before. */
const AFTERWARDS = new Set(["barrier-lines", "barrier-exited"]);

/** Return the recordings of a trace, one a launch; a run without events has no steps. */
export function decode(trace: Trace): Recording[] {
  return trace.runs.map((run) => new Recording(run));
}

/** A fault, and the step that shows it. */
export interface Finding {
  readonly fault: Fault;
  readonly step: number;
}

/** A launch as it was recorded. Reading from it at any step costs the same. */
export class Recording {
  /** The launch as the file has it: source, launch, counts, faults, result. */
  readonly run: Run;
  /** How many steps there are. */
  readonly length: number;
  /** Blocks whose steps are here, and the limit for which others are not. */
  readonly blocks: readonly number[];
  readonly reduced: "recorded" | "file_bytes" | null;
  /** Warps of a block. */
  readonly warps: number;
  readonly buffers: readonly Buffer[];
  /** The columns and pools that all of it is read from. */
  readonly columns: Columns;
  readonly pools: Pools;
  readonly #byName: (Buffer | undefined)[];
  readonly #blockPlace: ReadonlyMap<number, number>;
  #machine: Machine | undefined;
  #hits: Map<number, Int32Array> | undefined;
  #moved: Float64Array | undefined;
  #findings: readonly Finding[] | undefined;
  readonly #kept = new Map<unknown, unknown>();

  constructor(run: Run) {
    const recorded = run.recording;
    this.run = run;
    this.columns = columnsOf(recorded);
    this.pools = new Pools(run.pools);
    this.length = this.columns.steps;
    this.blocks = recorded?.blocks ?? [];
    this.reduced = recorded?.reduced?.setting ?? null;
    this.warps = Math.ceil(run.launch.block.reduce((one, other) => one * other, 1) / WARP);
    this.buffers = buffersOf(run);
    this.#byName = (recorded?.names ?? []).map((name) =>
      this.buffers.find((one) => one.name === name.name && one.space === name.space),
    );
    this.#blockPlace = new Map(this.blocks.map((block, place) => [block, place]));
  }

  /** Names of the variables in registers, in order of first use. */
  get variables(): readonly string[] {
    return this.names.filter((one) => one.space === "register").map((one) => one.name);
  }

  /** What events can be about. */
  get names(): readonly { name: string; space: string; type: string }[] {
    return this.run.recording?.names ?? [];
  }

  step(index: number): Step {
    if (index < 0 || index >= this.length) throw new RangeError(`there is no step ${index}`);
    const { number, block, warp, line, column, mask } = this.columns;
    return {
      index,
      number: number[index]!,
      block: block[index]!,
      warp: warp[index]!,
      line: line[index]!,
      column: column[index]!,
      lanes: mask[index]!,
    };
  }

  /** Return the step with this number; the last one before it where that was not recorded. */
  indexOf(number: number): number {
    return countUpTo(this.columns.number, number) - 1;
  }

  /** Return the events of a step: from, to. */
  eventsOf(index: number): readonly [number, number] {
    const { end } = this.columns;
    return index < 0 ? [0, 0] : [index > 0 ? end[index - 1]! : 0, end[index]!];
  }

  operation(event: number): Operation {
    return this.columns.operation[this.columns.what[event]!]!;
  }

  /** Return the buffer that a load, store or atomic is about. */
  bufferOf(event: number): Buffer {
    const buffer = this.#byName[this.columns.name[event]!];
    if (buffer === undefined) throw new Error(`event ${event} names no buffer of this launch`);
    return buffer;
  }

  /** Return the cells of an event, in the order of its lanes. */
  cellsOf(event: number): number[] {
    const { at, stride, count } = this.columns;
    const first = at[event]!;
    const by = stride[event]!;
    return Array.from({ length: count[event]! }, (_, item) =>
      Number.isNaN(by) ? this.pools.integer(first + item) : first + item * by,
    );
  }

  /** Return the lanes that took part in an event. */
  lanesOf(event: number): number {
    const { partial, mask, step } = this.columns;
    return partial.get(event) ?? mask[step[event]!]!;
  }

  /** Return the first cell of an event. */
  firstCell(event: number): number {
    const { at, stride } = this.columns;
    return Number.isNaN(stride[event]!) ? this.pools.integer(at[event]!) : at[event]!;
  }

  /** Return the place of a block among the recorded ones; undefined where it was not recorded. */
  placeOf(block: number): number | undefined {
    return this.#blockPlace.get(block);
  }

  /** Every warp that has steps, in order. */
  allWarps(): readonly WarpId[] {
    return this.blocks.flatMap((block) =>
      Array.from({ length: this.warps }, (_, warp) => ({ block, warp })),
    ).filter((at) => this.machine.stepsOf(at).length > 0);
  }

  /** Steps of a line, in order. */
  hits(line: number): Int32Array {
    this.#hits ??= grouped(this.columns.line);
    return this.#hits.get(line) ?? new Int32Array();
  }

  /** The machine after a step; -1 is before the first. */
  state(index: number): State {
    return this.machine.after(index);
  }

  get machine(): Machine {
    this.#machine ??= new Machine(this);
    return this.#machine;
  }

  /** Bytes of global memory that were asked for up to a step, this one included. */
  bytes(index: number): number {
    return index < 0 ? 0 : this.moved[index]!;
  }

  /** The same for every step. */
  get moved(): Float64Array {
    this.#moved ??= bytesMoved(this);
    return this.#moved;
  }

  /**
   * Faults that can be shown, in order of steps: those seen in a step that was recorded, and
   * those of a whole run at the first execution of their line.
   */
  get findings(): readonly Finding[] {
    this.#findings ??= this.run.faults
      .map((fault) => ({ fault, step: this.#shownAt(fault) }))
      .filter(({ step }) => step >= 0)
      .sort((one, other) => one.step - other.step);
    return this.#findings;
  }

  #shownAt(fault: Fault): number {
    if (fault.lanes === 0 && fault.step === 0) return this.hits(fault.line)[0] ?? -1;
    const number = AFTERWARDS.has(fault.id) ? fault.step - 1 : fault.step;
    const index = this.indexOf(number);
    return index >= 0 && this.columns.number[index] === number ? index : -1;
  }

  /** Return what `make` finds out about this recording, which it does once. */
  once<T>(make: (recording: Recording) => T): T {
    if (!this.#kept.has(make)) this.#kept.set(make, make(this));
    return this.#kept.get(make) as T;
  }
}

/** Return the places of each value of a column. */
function grouped(column: ArrayLike<number>): Map<number, Int32Array> {
  const found = new Map<number, number[]>();
  for (let index = 0; index < column.length; index++) {
    const known = found.get(column[index]!);
    if (known === undefined) found.set(column[index]!, [index]);
    else known.push(index);
  }
  return new Map([...found].map(([value, places]) => [value, Int32Array.from(places)]));
}

function bytesMoved(recording: Recording): Float64Array {
  const moved = new Float64Array(recording.length);
  let total = 0;
  for (let index = 0; index < recording.length; index++) {
    const [from, to] = recording.eventsOf(index);
    for (let event = from; event < to; event++) total += globalBytes(recording, event);
    moved[index] = total;
  }
  return moved;
}

function globalBytes(recording: Recording, event: number): number {
  const operation = recording.operation(event);
  if (operation !== "load" && operation !== "store" && operation !== "atomic") return 0;
  if (recording.bufferOf(event).space !== "global") return 0;
  return sharingOf(recording, event).bytes;
}
