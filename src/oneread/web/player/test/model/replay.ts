/** A machine that forgets nothing and knows no index: what a state is compared with. */

import type { Buffer, Recording, Value, WarpId } from "../../src/model";

/** Cells and registers by name, made by doing every event in order. */
export class Replay {
  readonly cells = new Map<string, Value>();
  readonly registers = new Map<string, readonly Value[]>();
  readonly loads = new Map<string, number>();
  #next = 0;

  constructor(readonly recording: Recording) {}

  /** Do all steps up to one. */
  until(step: number): void {
    for (; this.#next <= step; this.#next++) {
      const [from, to] = this.recording.eventsOf(this.#next);
      for (let event = from; event < to; event++) this.#do(event, this.recording.step(this.#next));
    }
  }

  static place(buffer: Buffer, cell: number, { block, warp }: WarpId): string {
    const whose = { global: "", shared: `${block}`, local: `${block}/${warp}` }[buffer.space];
    return `${buffer.name}@${whose}[${cell}]`;
  }

  #do(event: number, at: WarpId): void {
    const { columns, pools, names } = this.recording;
    const operation = this.recording.operation(event);
    const pool = columns.pool[event] as 0 | 1 | 2;
    const first = columns.value[event]!;
    const name = names[columns.name[event]!]!;
    if (operation === "register") {
      if (name.type === "bool") return;
      const type = pool === 2 ? "double" : name.type;
      const count = columns.count[event]!;
      const values = Array.from({ length: 32 }, (_, lane) =>
        pools.value(pool, first + (count === 1 ? 0 : lane), type),
      );
      this.registers.set(`${name.name}@${at.block}/${at.warp}`, values);
    }
    if (operation !== "load" && operation !== "store" && operation !== "atomic") return;
    const buffer = this.recording.bufferOf(event);
    this.recording.cellsOf(event).forEach((cell, item) => {
      const place = Replay.place(buffer, cell, at);
      if (operation !== "store") this.loads.set(place, (this.loads.get(place) ?? 0) + 1);
      if (operation === "load") return;
      const type = buffer.types[cell % buffer.types.length]!;
      this.cells.set(place, pools.value(pool, first + item, type));
    });
  }
}
