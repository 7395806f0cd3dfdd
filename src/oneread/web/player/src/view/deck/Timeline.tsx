// The timeline: scrub it with the pointer, or with the arrow keys while it has the focus.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../strings";
import { palette } from "../colours";
import type { Seen } from "../seen";
import type { Session } from "../session";
import { useSession } from "../state";
import { useStore } from "../store";
import { type Axis, axisOf, stepAt } from "./axis";
import { type Track, heightOf, paintTracks } from "./paint";

export function Timeline(): JSX.Element {
  const session = useSession();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current) return;
    const drawing = new Drawing(session, box.current);
    return () => drawing.destroy();
  }, [session]);
  return (
    <div class="timeline" ref={box}>
      <canvas aria-hidden="true" />
      <Slider />
    </div>
  );
}

function Slider(): JSX.Element {
  const session = useSession();
  const { playback, store } = session;
  useStore(store, (state) => state.moves);
  const seen = useStore(store, (state) => state.seen[state.focus] ?? null);
  return (
    <div
      class="playhead-track"
      role="slider"
      tabIndex={0}
      aria-label={t.deck.timeline}
      aria-valuemin={0}
      aria-valuemax={seen?.recording.length ?? 0}
      aria-valuenow={(seen?.at ?? -1) + 1}
      aria-valuetext={seen ? t.deck.position(seen) : ""}
      onKeyDown={(event) => {
        if (event.key === "PageUp" || event.key === "PageDown") {
          playback.move(event.key === "PageUp" ? -1 : 1, "pass");
          event.preventDefault();
        }
      }}
    >
      <div class="playhead" />
    </div>
  );
}

class Drawing {
  readonly #canvas: HTMLCanvasElement;
  readonly #track: HTMLElement;
  readonly #head: HTMLElement;
  readonly #undo: (() => void)[] = [];
  #axis: Axis = axisOf([]);
  #key = "";
  #frame = 0;
  #left = 0;
  #right = 0;

  constructor(
    private readonly session: Session,
    private readonly box: HTMLElement,
  ) {
    this.#canvas = box.querySelector("canvas")!;
    this.#track = box.querySelector(".playhead-track")!;
    this.#head = box.querySelector(".playhead")!;
    const later = (): void => {
      this.#frame ||= requestAnimationFrame(() => this.#draw());
    };
    const observer = new ResizeObserver(later);
    observer.observe(box);
    this.#undo.push(() => observer.disconnect(), session.store.listen(later));
    this.#track.addEventListener("pointerdown", this.#down);
    this.#draw();
  }

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    for (const undo of this.#undo) undo();
  }

  #seen(): Seen[] {
    return this.session.state.seen.filter((one): one is Seen => one !== null);
  }

  #draw(): void {
    this.#frame = 0;
    const { state } = this.session;
    const colours = palette();
    const tracks: Track[] = state.seen.flatMap((seen, slot) => {
      const label = state.seen.length > 1 ? (state.slots[slot]?.key ?? "") : "";
      return seen ? [{ seen, label, focus: slot === state.focus }] : [];
    });
    this.#axis = axisOf(tracks.map((one) => one.seen));
    const width = this.box.clientWidth;
    const key = JSON.stringify([
      width,
      state.focus,
      state.slots.map((one) => one.id),
      document.documentElement.dataset["theme"],
      colours.rem,
      tracks.map((one) => one.seen.recording.length),
    ]);
    if (key !== this.#key || this.#fresh(tracks)) {
      this.#key = key;
      this.#paint(tracks, width);
    }
    this.#place(width);
  }

  #last: readonly Seen[] = [];

  #fresh(tracks: readonly Track[]): boolean {
    const now = tracks.map((one) => one.seen);
    const same = now.length === this.#last.length && now.every((one, at) => one === this.#last[at]);
    this.#last = now;
    return !same;
  }

  #paint(tracks: readonly Track[], width: number): void {
    const colours = palette();
    const context = this.#canvas.getContext("2d");
    if (!context) return;
    context.font = `650 ${colours.rem * 0.66}px ${colours.mono}`;
    const widest = Math.max(0, ...tracks.map((one) => context.measureText(one.label).width));
    this.#left = widest > 0 ? Math.min(widest + colours.rem, width * 0.34) : colours.rem * 0.25;
    this.#right = colours.rem * 0.5;
    const ratio = window.devicePixelRatio || 1;
    const height = Math.max(1, tracks.length) * heightOf(tracks) * colours.rem;
    this.box.style.height = `${height}px`;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintTracks(
      context,
      tracks,
      this.#axis,
      { width, left: this.#left, right: this.#right },
      colours,
    );
    this.#track.style.left = `${this.#left}px`;
    this.#track.style.right = `${this.#right}px`;
  }

  #place(width: number): void {
    const all = this.#seen();
    const place = Math.max(0, ...all.map((one) => this.#axis.at(one)));
    const room = width - this.#left - this.#right;
    this.#head.style.transform = `translateX(${(place / this.#axis.end) * room}px)`;
  }

  readonly #down = (event: PointerEvent): void => {
    const { playback, state } = this.session;
    playback.pause();
    this.#track.setPointerCapture(event.pointerId);
    const go = (one: PointerEvent): void => {
      const box = this.#track.getBoundingClientRect();
      const part = Math.max(0, Math.min(1, (one.clientX - box.left) / box.width));
      const place = part * this.#axis.end;
      const lead = state.seen[this.session.state.focus];
      if (this.#axis.kind === "bytes") playback.seek(place);
      else if (lead) playback.jump(this.session.state.focus, stepAt(this.#axis, lead, place));
    };
    go(event);
    const stop = (): void => {
      this.#track.removeEventListener("pointermove", go);
      this.#track.removeEventListener("pointerup", stop);
      this.#track.removeEventListener("pointercancel", stop);
    };
    this.#track.addEventListener("pointermove", go);
    this.#track.addEventListener("pointerup", stop);
    this.#track.addEventListener("pointercancel", stop);
  };
}
