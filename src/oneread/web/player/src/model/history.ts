/**
 * Who touched what, when: for each of many places the events that touched it, in order.
 *
 * A state at any step is a search in these lists, so that a jump costs no more than a step, back
 * no more than forward, and nothing has to be undone.
 */

export class History {
  /** Where the list of each place begins in the columns below, and where the last one ends. */
  readonly #starts: Int32Array;
  readonly #events: Int32Array;
  readonly #items: Int32Array;
  readonly #totals: Int32Array;

  /**
   * @param places How many places there are.
   * @param walk Calls `touch(place, event, item, weight)` for each touch, by rising events, and
   *   does the same each time that it is called. `item` is the place within the event, `weight`
   *   how often it counts.
   */
  constructor(places: number, walk: (touch: Touch) => void) {
    const starts = new Int32Array(places + 1);
    walk((place) => {
      starts[place + 1]!++;
    });
    for (let place = 0; place < places; place++) starts[place + 1]! += starts[place]!;
    const total = starts[places]!;
    const events = new Int32Array(total);
    const items = new Int32Array(total);
    const totals = new Int32Array(total);
    const next = starts.slice();
    walk((place, event, item, weight) => {
      const at = next[place]!++;
      events[at] = event;
      items[at] = item;
      totals[at] = weight + (at > starts[place]! ? totals[at - 1]! : 0);
    });
    this.#starts = starts;
    this.#events = events;
    this.#items = items;
    this.#totals = totals;
  }

  /** Return the entry of the last touch of a place by an event before `bound`, -1 for none. */
  latest(place: number, bound: number): number {
    const start = this.#starts[place]!;
    let low = start;
    let high = this.#starts[place + 1]!;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]! < bound) low = middle + 1;
      else high = middle;
    }
    return low > start ? low - 1 : -1;
  }

  /** Return the entries of a place, all of them: from, to. */
  entries(place: number): readonly [number, number] {
    return [this.#starts[place]!, this.#starts[place + 1]!];
  }

  event(entry: number): number {
    return this.#events[entry]!;
  }

  item(entry: number): number {
    return this.#items[entry]!;
  }

  /** Return how often a place was touched by events before `bound`. */
  times(place: number, bound: number): number {
    const entry = this.latest(place, bound);
    return entry < 0 ? 0 : this.#totals[entry]!;
  }

  /** Return how often the touch of an entry counts. */
  weight(place: number, entry: number): number {
    return this.#totals[entry]! - (entry > this.#starts[place]! ? this.#totals[entry - 1]! : 0);
  }
}

export type Touch = (place: number, event: number, item: number, weight: number) => void;
