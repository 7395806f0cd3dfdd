// Where the playheads are. One kernel leads; the others stand where they have moved as many bytes
// of global memory, so that all are seen after the same work, not after the same share of steps.
import { type Fault, type Finding, type Recording, type Unit, level } from "../model";
import { WHOLE, axisOf, shareAt, zoomed } from "./deck/axis";
import type { Seen } from "./seen";
import type { PageState } from "./state";
import { SPEEDS } from "./state";
import type { Store } from "./store";

/** Moves a second at speed 1. */
const PACE = 3;

/** How long a frame takes, in milliseconds. */
const FRAME = 16;

/** Moves of at most so many steps are shown in motion. */
const NEAR = 400;

/** Unless they follow one another sooner than this, in milliseconds: a key that is held down. */
const REST = 150;

export class Playback {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #frame = 0;
  #due = 0;
  /** When the last move was made. */
  #last = -Infinity;

  constructor(private readonly store: Store<PageState>) {}

  /** The kernel that leads, null where nothing has run. */
  get lead(): Seen | null {
    const { seen, focus } = this.store.state;
    return seen[focus] ?? null;
  }

  /** Make a move; false where no kernel can. */
  move(direction: 1 | -1, unit: Unit = this.store.state.unit): boolean {
    const mover = direction === 1 ? this.#ahead() : this.#behind();
    if (mover === null) return false;
    const before = mover.at;
    const moved = direction === 1 ? mover.player.forward(unit) : mover.player.back(unit);
    // Where no other place of the unit is left, the rest is one move.
    if (!moved && direction === 1) mover.player.jump(mover.recording.length - 1);
    if (mover.at === before) return false;
    this.#level(mover);
    const now = performance.now();
    this.#moved(Math.abs(mover.at - before) <= NEAR && now - this.#last >= REST);
    this.#last = now;
    return true;
  }

  /** Who goes on: the leader, then, when it has ended, whoever has moved least. */
  #ahead(): Seen | null {
    const open = (one: Seen): boolean => one.at < one.recording.length - 1;
    if (this.lead && open(this.lead)) return this.lead;
    const others = this.#all().filter(open);
    return others.reduce<Seen | null>((a, b) => (a && a.bytes <= b.bytes ? a : b), null);
  }

  /** Who goes back: whoever is beyond the leader's end, then the leader. */
  #behind(): Seen | null {
    const { lead } = this;
    if (lead === null) return null;
    const beyond = this.#all().filter((one) => one.bytes > lead.bytes);
    return beyond.reduce<Seen | null>((a, b) => (a && a.bytes >= b.bytes ? a : b), null) ?? lead;
  }

  #all(): Seen[] {
    return this.store.state.seen.filter((one): one is Seen => one !== null);
  }

  #level(mover: Seen): void {
    const others = this.#all().filter((one) => one !== mover);
    const places = level(
      others.map((one) => one.recording),
      mover.bytes,
    );
    others.forEach((one, index) => {
      const place = places[index] ?? -1;
      // Who has moved as much already stays: at the end, for one, or in a reduction.
      if (place < 0 || one.recording.bytes(place) !== one.bytes)
        one.player.jump(accessOf(one, place));
    });
  }

  #moved(near: boolean): void {
    this.store.set({ moves: this.store.state.moves + 1, near });
  }

  /** Put a kernel's playhead on a step. Whoever goes somewhere wants to look at it: play ends. */
  jump(slot: number, step: number): void {
    this.pause();
    const seen = this.store.state.seen[slot];
    if (!seen) return;
    seen.player.jump(step);
    this.#level(seen);
    this.#moved(false);
  }

  /** Put all playheads where so many bytes have moved. */
  seek(bytes: number): void {
    this.pause();
    const all = this.#all();
    const places = level(
      all.map((one) => one.recording),
      bytes,
    );
    all.forEach((one, index) => one.player.jump(accessOf(one, places[index] ?? -1)));
    this.#moved(false);
  }

  /** Go to the beginning: on the first access, where there is something to see. */
  first(): void {
    this.pause();
    for (const one of this.#all()) {
      one.player.jump(firstAccess(one));
      if (one.at < 0) one.player.forward("memory");
    }
    this.#moved(false);
  }

  last(): void {
    this.pause();
    for (const one of this.#all()) one.player.jump(one.recording.length - 1);
    this.#moved(false);
  }

  /** Go to the next execution of a line of the leader, or the one before; round at the ends. */
  visit(line: number, backwards = false): boolean {
    const { lead } = this;
    if (lead === null || lead.recording.hits(line).length === 0) return false;
    this.pause();
    const { player } = lead;
    const found = backwards ? player.previousHit(line) : player.nextHit(line);
    if (!found) {
      player.hit(line, backwards ? Number.MAX_SAFE_INTEGER : 1);
    }
    this.#level(lead);
    this.#moved(false);
    return true;
  }

  /** Go to the next fault of the leader, from the worst one again after the last; not to notes. */
  finding(): Fault | undefined {
    const { lead } = this;
    const loud = lead ? worstFirst(lead.recording) : [];
    if (lead === null || loud.length === 0) return undefined;
    this.pause();
    const here = loud.findIndex((one) => one.fault === this.store.state.shown?.fault);
    const { fault, step } = loud[(here + 1) % loud.length]!;
    lead.player.jump(step);
    this.#level(lead);
    this.#moved(false);
    return fault;
  }

  /** Go to where the same line is executed for the same time as before. */
  restore(slot: number, line: number, hit: number): boolean {
    const seen = this.store.state.seen[slot];
    if (!seen || !seen.player.hit(line, hit)) return false;
    this.#level(seen);
    this.#moved(false);
    return true;
  }

  toggle(): void {
    if (this.store.state.playing) this.pause();
    else this.play();
  }

  play(): void {
    const { lead } = this;
    if (lead === null) return;
    const ended = this.#all().every((one) => one.at >= one.recording.length - 1);
    if (ended) this.first();
    this.store.set({ playing: true });
    this.#due = performance.now();
    this.#wait();
  }

  pause(): void {
    if (!this.store.state.playing) return;
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.store.set({ playing: false });
  }

  faster(by: 1 | -1): void {
    const place = SPEEDS.indexOf(this.store.state.speed as (typeof SPEEDS)[number]) + by;
    const speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, place))];
    if (speed !== undefined) this.store.set({ speed });
  }

  /** Show more or less of the run in the timeline, around the playhead; all of it for null. */
  zoom(by: number | null): void {
    const axis = axisOf(this.#all());
    const { span } = this.store.state;
    const share = shareAt(axis, this.#all());
    this.store.set({
      span: by === null ? WHOLE : zoomed(span, by, share, axis.least / axis.end),
    });
  }

  readonly #tick = (now: number): void => {
    if (!this.store.state.playing) return;
    if (now >= this.#due) {
      if (!this.move(1)) {
        this.pause();
        return;
      }
      // A frame that came late is not made up for: no burst of moves after a pause of the tab.
      this.#due = Math.max(now, this.#due) + 1000 / (PACE * this.store.state.speed);
    }
    this.#wait();
  };

  /** Ask for a frame shortly before the next move: frames in between would change nothing. */
  #wait(): void {
    clearTimeout(this.#timer);
    cancelAnimationFrame(this.#frame);
    this.#timer = setTimeout(() => {
      this.#frame = requestAnimationFrame(this.#tick);
    }, this.#due - performance.now() - FRAME);
  }
}

/** Errors, then warnings, each in order of steps. */
export function worstFirst({ findings }: Recording): readonly Finding[] {
  return (["error", "warning"] as const).flatMap((severity) =>
    findings.filter((one) => one.fault.severity === severity),
  );
}

/** The access with which a kernel came to the bytes that it has moved at a step. */
function accessOf({ recording }: Seen, step: number): number {
  return step < 0 || recording.bytes(step) === 0 ? -1 : reached(recording, recording.bytes(step));
}

/** The first access of global memory, -1 where there is none. */
function firstAccess({ recording, allBytes }: Seen): number {
  return allBytes === 0 ? -1 : reached(recording, 1);
}

/** The first step up to which so many bytes have moved. */
function reached(recording: Recording, bytes: number): number {
  let [low, high] = [0, recording.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (recording.bytes(middle) >= bytes) high = middle;
    else low = middle + 1;
  }
  return low;
}
