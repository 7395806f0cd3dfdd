/** The machine after any step: memory, registers, and who waits at a barrier. */

import { type Meetings, meetingsOf } from "./barriers";
import { History, type Touch } from "./history";
import { countUpTo } from "./numbers";
import { passNumbers } from "./passes";
import type { Recording } from "./recording";
import { Registers, laneValues, warpPlace } from "./registers";
import { sharingOf } from "./sharing";
import type {
  Buffer, Cell, Cells, Register, State, Step, Waiting, WarpId,
} from "./types";

/** What all states of a recording are read from. Each part is made when it is first needed. */
export class Machine {
  readonly #recording: Recording;
  readonly #stores = new Map<Buffer, History>();
  readonly #loads = new Map<Buffer, History>();
  readonly #before = new Map<Buffer, Float64Array>();
  #registers: Registers | undefined;
  #meetings: ReadonlyMap<number, Meetings> | undefined;
  #warps: readonly Int32Array[] | undefined;
  #accesses: readonly (readonly number[])[] | undefined;

  constructor(recording: Recording) {
    this.#recording = recording;
  }

  after(step: number): State {
    const bound = step < 0 ? 0 : this.#recording.columns.end[step]!;
    return new Moment(this.#recording, this, step, bound);
  }

  /** The same in the middle of a step: after so many events. */
  afterEvents(bound: number): State {
    return new Moment(this.#recording, this, this.#recording.columns.step[bound]!, bound);
  }

  /** What was stored to each cell of a buffer: blocks (and warps) have a copy of their own. */
  stores(buffer: Buffer): History {
    return this.#touched(this.#stores, buffer, "store");
  }

  loads(buffer: Buffer): History {
    return this.#touched(this.#loads, buffer, "load");
  }

  /** What the cells of a buffer held at first; undefined where they were unset. */
  before(buffer: Buffer): Float64Array | undefined {
    const { before } = this.#recording.run.buffers[buffer.index]!;
    if (before === null) return undefined;
    let values = this.#before.get(buffer);
    if (values === undefined) {
      values = this.#recording.pools.vector(before, buffer.types);
      this.#before.set(buffer, values);
    }
    return values;
  }

  get registers(): Registers {
    this.#registers ??= new Registers(this.#recording);
    return this.#registers;
  }

  get meetings(): ReadonlyMap<number, Meetings> {
    this.#meetings ??= meetingsOf(this.#recording);
    return this.#meetings;
  }

  /** Steps of a warp, in order. */
  stepsOf(at: WarpId): Int32Array {
    this.#warps ??= stepsByWarp(this.#recording);
    return this.#warps[warpPlace(this.#recording, at)] ?? new Int32Array();
  }

  /** Return which copy of a buffer is meant, as the place of its first cell; -1 for none. */
  copy(buffer: Buffer, at: Partial<WarpId>): number {
    if (buffer.space === "global") return 0;
    const place = this.#recording.placeOf(at.block ?? -1);
    if (place === undefined) return -1;
    const copy = buffer.space === "shared" ? place : place * this.#recording.warps + (at.warp ?? 0);
    return copy * buffer.cells;
  }

  #touched(known: Map<Buffer, History>, buffer: Buffer, kind: "load" | "store"): History {
    let history = known.get(buffer);
    if (history === undefined) {
      const recording = this.#recording;
      const warps = buffer.space === "local" ? recording.warps : 1;
      const copies = buffer.space === "global" ? 1 : recording.blocks.length * warps;
      history = new History(copies * buffer.cells, (touch) => this.#walk(buffer, kind, touch));
      known.set(buffer, history);
    }
    return history;
  }

  #walk(buffer: Buffer, kind: "load" | "store", touch: Touch): void {
    const recording = this.#recording;
    const { columns } = recording;
    this.#accesses ??= accessesByBuffer(recording);
    for (const event of this.#accesses[buffer.index]!) {
      const operation = recording.operation(event);
      if (operation !== kind && operation !== "atomic") continue;
      const step = columns.step[event]!;
      const weight = weightOf(recording, event);
      const at = { block: columns.block[step]!, warp: columns.warp[step]! };
      const copy = this.copy(buffer, at);
      const stride = columns.stride[event]!;
      const first = columns.at[event]!;
      const listed = Number.isNaN(stride);
      for (let item = 0; item < columns.count[event]!; item++) {
        const cell = listed ? recording.pools.integer(first + item) : first + item * stride;
        touch(copy + cell, event, item, weight);
      }
    }
  }
}

class Moment implements State {
  readonly step: number;
  readonly #recording: Recording;
  readonly #machine: Machine;
  /** Events before this one have happened. */
  readonly #bound: number;

  constructor(recording: Recording, machine: Machine, step: number, bound: number) {
    this.#recording = recording;
    this.#machine = machine;
    this.step = step;
    this.#bound = bound;
  }

  cell(buffer: Buffer, cell: number, at: Partial<WarpId> = {}): Cell {
    const first = this.#machine.copy(buffer, at);
    if (first < 0) return { value: undefined, step: -1 };
    const stores = this.#machine.stores(buffer);
    const entry = stores.latest(first + cell, this.#bound);
    const { columns, pools, run } = this.#recording;
    const type = buffer.types[cell % buffer.types.length]!;
    if (entry >= 0) {
      const event = stores.event(entry);
      const place = columns.value[event]! + stores.item(entry);
      const value = pools.value(columns.pool[event] as 0 | 1 | 2, place, type);
      return { value, step: columns.step[event]! };
    }
    const { before } = run.buffers[buffer.index]!;
    if (before === null) return { value: undefined, step: -1 };
    return { value: pools.value(before.pool, before.at + cell, type), step: -1 };
  }

  cells(buffer: Buffer, first: number, count: number, at: Partial<WarpId> = {}): Cells {
    const stop = Math.min(first + count, buffer.cells);
    const length = Math.max(0, stop - first);
    const values = new Float64Array(length);
    const set = new Uint8Array(length);
    const step = new Int32Array(length).fill(-1);
    const copy = this.#machine.copy(buffer, at);
    const out = { first, values, set, step };
    if (copy < 0) return out;
    const stores = this.#machine.stores(buffer);
    const before = this.#machine.before(buffer);
    const { columns, pools } = this.#recording;
    for (let index = 0; index < length; index++) {
      const cell = first + index;
      const entry = stores.latest(copy + cell, this.#bound);
      if (entry >= 0) {
        const event = stores.event(entry);
        const type = buffer.types[cell % buffer.types.length]!;
        const place = columns.value[event]! + stores.item(entry);
        values[index] = pools.number(columns.pool[event] as 0 | 1 | 2, place, type);
        step[index] = columns.step[event]!;
        set[index] = 1;
      } else if (before !== undefined) {
        values[index] = before[cell]!;
        set[index] = 1;
      }
    }
    return out;
  }

  registers(at: WarpId): readonly Register[] {
    const found = this.#machine.registers.names.map((_, variable) => this.#register(at, variable));
    return found.filter((one) => one !== undefined);
  }

  register(at: WarpId, name: string): Register | undefined {
    const variable = this.#machine.registers.names.findIndex((one) => one.name === name);
    return variable < 0 ? undefined : this.#register(at, variable);
  }

  #register(at: WarpId, variable: number): Register | undefined {
    const warp = warpPlace(this.#recording, at);
    if (warp < 0) return undefined;
    const registers = this.#machine.registers;
    const event = registers.latest(warp, variable, this.#bound);
    if (event < 0) return undefined;
    const { name, type } = registers.names[variable]!;
    const values = laneValues(this.#recording, event, type);
    const set = registers.known(event);
    const held = values.filter((_, lane) => (set >>> lane) & 1);
    return {
      name,
      type,
      values,
      set,
      uniform: held.every((one) => Object.is(one, held[0])),
      step: this.#recording.columns.step[event]!,
    };
  }

  last(at: WarpId): Step | undefined {
    const steps = this.#machine.stepsOf(at);
    const count = countUpTo(steps, this.step);
    return count === 0 ? undefined : this.#recording.step(steps[count - 1]!);
  }

  waiting(block: number): Waiting | undefined {
    const met = this.#machine.meetings.get(block);
    if (met === undefined) return undefined;
    const epoch = met.epochs[countUpTo(met.starts, this.step) - 1];
    if (epoch === undefined || this.step > epoch.release) return undefined;
    const here = epoch.arrivals.filter(({ step }) => step <= this.step);
    return {
      line: here[0]!.line,
      warps: here.map(({ warp }) => warp),
      lines: here.map(({ line }) => line),
      complete: here.length === epoch.arrivals.length,
    };
  }

  touches(buffer: Buffer, kind: "load" | "store", first: number, count: number): Uint32Array {
    const history = kind === "load" ? this.#machine.loads(buffer) : this.#machine.stores(buffer);
    const length = Math.max(0, Math.min(first + count, buffer.cells) - first);
    return Uint32Array.from({ length }, (_, index) => history.times(first + index, this.#bound));
  }

  readsByPass(buffer: Buffer, first: number, count: number): readonly Uint16Array[] {
    const numbers = this.#recording.once(passNumbers);
    const loads = this.#machine.loads(buffer);
    const length = Math.max(0, Math.min(first + count, buffer.cells) - first);
    const found = Array.from(
      { length: numbers.most.get(buffer) ?? 0 },
      () => new Uint16Array(length),
    );
    for (let index = 0; index < length; index++) {
      const place = first + index;
      const last = loads.latest(place, this.#bound);
      if (last < 0) continue;
      for (let [entry] = loads.entries(place); entry <= last; entry++) {
        const pass = numbers.ofEvent[loads.event(entry)]!;
        if (pass > 0) found[pass - 1]![index]! += loads.weight(place, entry);
      }
    }
    return found;
  }
}

/** Return the loads, stores and atomics of each buffer. */
function accessesByBuffer(recording: Recording): number[][] {
  const found: number[][] = recording.buffers.map(() => []);
  for (let event = 0; event < recording.columns.events; event++) {
    const operation = recording.operation(event);
    if (operation !== "load" && operation !== "store" && operation !== "atomic") continue;
    found[recording.bufferOf(event).index]!.push(event);
  }
  return found;
}

/** Return how often an event counts for each of its cells: once a lane that touches it. */
function weightOf(recording: Recording, event: number): number {
  const { together, laneCount } = sharingOf(recording, event);
  return together ? laneCount : 1;
}

function stepsByWarp(recording: Recording): Int32Array[] {
  const { block, warp } = recording.columns;
  const found: number[][] = Array.from(
    { length: recording.blocks.length * recording.warps },
    () => [],
  );
  for (let index = 0; index < recording.length; index++) {
    found[warpPlace(recording, { block: block[index]!, warp: warp[index]! })]!.push(index);
  }
  return found.map((steps) => Int32Array.from(steps));
}
