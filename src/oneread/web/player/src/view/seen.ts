// One launch as the page shows it: its recording and playhead, and what is drawn of it again and
// again, worked out once.
import {
  type Bead,
  type Ledger,
  type LessonStep,
  type Pass,
  type PassList,
  type Point,
  type Recording,
  type Series,
  type WarpId,
  Player,
  ledger,
  lesson,
  passLists,
  passes,
  series,
} from "../model";

/** Lowest and highest finite value that something has in a run. */
export type Extent = readonly [number, number];

/** m, d and the corrections of one thread, or of a block that has one m for all. */
export interface Curve {
  readonly thread: WarpId & { readonly lane: number };
  readonly m: { readonly name: string; readonly points: readonly Point[] } | null;
  readonly d: { readonly name: string; readonly points: readonly Point[] } | null;
  readonly beads: readonly Bead[];
}

export class Seen {
  readonly player: Player;
  readonly ledger: Ledger;
  #passes: readonly Pass[] | null = null;
  readonly #curves = new Map<number, Curve>();
  readonly #lessons = new Map<number, readonly LessonStep[]>();
  readonly #lists = new Map<number, readonly PassList[]>();
  readonly #extents = new Map<string, Extent>();
  readonly #ends = new Map<number, readonly [number, number]>();

  constructor(readonly recording: Recording) {
    this.player = new Player(recording);
    this.ledger = ledger(recording.run);
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

  passLists(block: number): readonly PassList[] {
    return kept(this.#lists, block, () => passLists(this.recording, block));
  }

  curve(block: number): Curve {
    return kept(this.#curves, block, () => curve(series(this.recording, block), block));
  }

  /** First and last step of a block. */
  ends(block: number): readonly [number, number] {
    return kept(this.#ends, block, () => {
      let first = 0;
      const { length } = this.recording;
      while (first < length - 1 && this.recording.step(first).block !== block) first++;
      let last = length - 1;
      while (last > first && this.recording.step(last).block !== block) last--;
      return [first, last] as const;
    });
  }

  /** How far the values of a buffer reach in this run: of what it holds at the start and the end,
   * and at moments between. */
  extent(name: string, read: (step: number) => Iterable<number>): Extent {
    return kept(this.#extents, name, () => {
      const { length } = this.recording;
      let [low, high] = [Infinity, -Infinity];
      for (let part = 0; part <= 24; part++) {
        const step = Math.round(((length - 1) * part) / 24);
        for (const value of read(step)) {
          if (!Number.isFinite(value)) continue;
          if (value < low) low = value;
          if (value > high) high = value;
        }
      }
      return low > high ? ([0, 1] as const) : ([low, high] as const);
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

function curve(all: Series, block: number): Curve {
  const beads = all.factor.flatMap((line) => line.points);
  const m = widest(all.m);
  const thread = first(m?.points ?? widest(all.d)?.points ?? [], block);
  const mine = <P extends Point>(points: readonly P[]): P[] =>
    points.filter((one) => one.warp === thread.warp && one.lane === thread.lane);
  const d = widest(all.d);
  return {
    thread,
    m: m && { name: m.name, points: mine(m.points) },
    d: d && { name: d.name, points: mine(d.points) },
    beads: mine(beads)
      .filter((one) => !one.idle && one.value !== 0)
     .sort((a, b) => a.step - b.step),
  };
}

/** The line that changes most: the running value itself rather than a copy of its last one. */
function widest<Line extends { readonly points: readonly Point[] }>(
  lines: readonly Line[],
): Line | null {
  let best: Line | null = null;
  let most = 0;
  for (const line of lines) {
    const moves = new Set(line.points.map((one) => one.value)).size;
    if (moves > most) [best, most] = [line, moves];
  }
  return best;
}

function first(points: readonly Point[], block: number): Curve["thread"] {
  const warp = Math.min(...points.map((one) => one.warp));
  const lane = Math.min(...points.filter((one) => one.warp === warp).map((one) => one.lane));
  return Number.isFinite(lane) ? { block, warp, lane } : { block, warp: 0, lane: 0 };
}
