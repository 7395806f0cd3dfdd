// One launch as the page shows it: its recording and playhead, and what is drawn of it again and
// again, worked out once.
import {
  type Ledger,
  type LessonStep,
  type Pass,
  type PassList,
  type Recording,
  Player,
  extentOf,
  ledger,
  lesson,
  passLists,
  passNumbers,
  passes,
  type Thread,
  variables,
  watched,
} from "../model";
import type { Line } from "./chart/geometry";
import { type Curve, curveOf } from "./curves";
import { stretches } from "./stretches";

export class Seen {
  readonly player: Player;
  readonly ledger: Ledger;
  #passes: readonly Pass[] | null = null;
  readonly #curves = new Map<string, Curve>();
  readonly #watched = new Map<string, Line>();
  readonly #lessons = new Map<number, readonly LessonStep[]>();
  readonly #lists = new Map<number, readonly PassList[]>();
  readonly #ends = new Map<number, readonly [number, number]>();

  constructor(readonly recording: Recording) {
    this.player = new Player(recording);
    this.ledger = ledger(recording.run);
  }

  /** Work out, piece by piece, what the first picture takes: each piece is short. */
  *prepare(): Generator<void> {
    const { machine, buffers } = this.recording;
    yield void this.recording.moved;
    for (const buffer of buffers.filter((one) => one.space !== "local")) {
      yield void machine.stores(buffer);
      if (buffer.space === "global") yield void machine.loads(buffer);
    }
    yield void machine.registers;
    yield void this.recording.once(passNumbers);
    yield void stretches(this.recording);
    yield void extentOf(this.recording, "", "");
    yield void this.curve(this.block);
    yield void this.player.stops("memory");
  }

  get at(): number {
    return this.player.at;
  }

  /** The step that the playhead stands on, undefined before the first. */
  get step() {
    return this.at < 0 ? undefined : this.recording.step(this.at);
  }

  get block(): number {
    return this.step?.block ?? this.recording.blocks[0] ?? 0;
  }

  /** Bytes of global memory up to the playhead, and of the whole recording. */
  get bytes(): number {
    return this.at < 0 ? 0 : this.recording.bytes(this.at);
  }

  get allBytes(): number {
    const last = this.recording.length - 1;
    return last < 0 ? 0 : this.recording.bytes(last);
  }

  get passes(): readonly Pass[] {
    return (this.#passes ??= passes(this.recording));
  }

  lesson(block: number): readonly LessonStep[] {
    return kept(this.#lessons, block, () => lesson(this.recording, block));
  }

  /** What the lesson can explain: 2 a d that is corrected, 1 a d that is a sum, 0 neither. */
  get explained(): number {
    const { block } = this;
    const sums = this.lesson(block).some(({ id, step }) => id === "definition" && step !== null);
    return sums ? 1 + Number(this.curve(block).beads.length > 0) : 0;
  }

  passLists(block: number): readonly PassList[] {
    return kept(this.#lists, block, () => passLists(this.recording, block));
  }

  /** m and d of a lane; of the one that has most to correct where none is asked for. */
  curve(block: number, lane: number | null = null): Curve {
    return kept(this.#curves, `${block} ${lane}`, () => curveOf(this.recording, block, lane));
  }

  /** The lane whose values are told: the one that was picked, else that of the chart. */
  laneOf(picked: number | null): number {
    return picked ?? this.curve(this.block).thread.lane;
  }

  /** What a variable or a formula is in a thread. */
  watched(text: string, thread: Thread): Line {
    const { block, warp, lane } = thread;
    return kept(this.#watched, `${block} ${warp} ${lane} ${text}`, () => ({
      kind: variables(this.recording).find((one) => one.name === text)?.space ?? "formula",
      name: text,
      points: watched(this.recording, text, thread),
    }));
  }

  /** First and last step of a block. */
  ends(block: number): readonly [number, number] {
    return kept(this.#ends, block, () => {
      const blocks = this.recording.run.recording?.steps.block ?? [];
      return [Math.max(0, blocks.indexOf(block)), Math.max(0, blocks.lastIndexOf(block))] as const;
    });
  }
}

function kept<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  let found = known.get(key);
  if (found === undefined) {
    found = make();
    known.set(key, found);
  }
  return found;
}
