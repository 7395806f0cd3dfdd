// Draws the timeline and its strip, and turns what the pointer does there into moves and spans.
import { palette } from "../colours";
import type { Seen } from "../seen";
import type { Session } from "../session";
import {
  type Axis,
  type Span,
  WHOLE,
  axisOf,
  between,
  holding,
  isWhole,
  panned,
  shareAt,
  stepAt,
  zoomed,
} from "./axis";
import type { Scene, Track } from "./brush";
import { heightOf, paintStrip, paintTracks, stripOf } from "./paint";

/** Within so many pixels an edge of the window in the strip is taken hold of. */
const GRIP = 7;

export class Drawing {
  readonly #tracks: HTMLElement;
  readonly #slider: HTMLElement;
  readonly #head: HTMLElement;
  readonly #strip: HTMLElement;
  readonly #bar: HTMLElement;
  readonly #window: HTMLElement;
  readonly #stripHead: HTMLElement;
  readonly #undo: (() => void)[] = [];
  #axis: Axis = axisOf([]);
  #drawn: readonly unknown[] = [];
  #span: Span | null = null;
  #moves = -1;
  #frame = 0;
  /** Of the box: to ask for it in each frame would have the page laid out in each. */
  #width = 0;
  #left = 0;
  #right = 0;

  constructor(
    private readonly session: Session,
    box: HTMLElement,
  ) {
    const part = (name: string): HTMLElement => box.querySelector(`.${name}`)!;
    this.#tracks = part("tracks");
    this.#slider = part("playhead-track");
    this.#head = part("playhead");
    this.#strip = part("overview");
    this.#bar = part("overview-track");
    this.#window = part("overview-window");
    this.#stripHead = part("overview-head");
    const later = (): void => {
      this.#frame ||= requestAnimationFrame(() => this.#draw());
    };
    const observer = new ResizeObserver(() => {
      this.#width = box.clientWidth;
      later();
    });
    observer.observe(box);
    this.#width = box.clientWidth;
    this.#undo.push(() => observer.disconnect(), session.store.listen(later));
    this.#slider.addEventListener("pointerdown", this.#scrub);
    this.#bar.addEventListener("pointerdown", this.#choose);
    this.#bar.addEventListener("dblclick", () => this.#look(WHOLE));
    box.addEventListener("wheel", this.#wheel, { passive: false });
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
    const tracks: Track[] = state.seen.flatMap((seen, slot) => {
      const label = state.seen.length > 1 ? (state.slots[slot]?.key ?? "") : "";
      return seen ? [{ seen, label, focus: slot === state.focus }] : [];
    });
    this.#axis = axisOf(tracks.map((one) => one.seen));
    const share = shareAt(this.#axis, this.#seen());
    if (state.moves !== this.#moves) this.#look(holding(state.span, share));
    this.#moves = state.moves;
    const width = this.#width;
    const { span } = this.session.state;
    const now = [width, palette(), devicePixelRatio, ...tracks.flatMap(Object.values)];
    const fresh =
      now.length !== this.#drawn.length || now.some((one, index) => one !== this.#drawn[index]);
    this.#drawn = now;
    if (fresh) this.#measure(tracks, width);
    if (fresh || span !== this.#span) this.#paint(tracks, width, span);
    this.#span = span;
    this.#place(width, share, span);
  }

  /** Make room for the names, and draw the whole run. */
  #measure(tracks: readonly Track[], width: number): void {
    const colours = palette();
    const strip = this.#fit(this.#strip, width, stripOf(tracks) * colours.rem);
    strip.font = `650 ${colours.rem * 0.66}px ${colours.mono}`;
    const widest = Math.max(0, ...tracks.map((one) => strip.measureText(one.label).width));
    this.#left = widest > 0 ? Math.min(widest + colours.rem, width * 0.34) : colours.rem * 0.25;
    this.#right = colours.rem * 0.5;
    for (const track of [this.#slider, this.#bar]) {
      track.style.left = `${this.#left}px`;
      track.style.right = `${this.#right}px`;
    }
    paintStrip(this.#scene(strip, tracks, width));
  }

  #paint(tracks: readonly Track[], width: number, span: Span): void {
    const height = Math.max(1, tracks.length) * heightOf(tracks) * palette().rem;
    paintTracks(this.#scene(this.#fit(this.#tracks, width, height), tracks, width), span);
  }

  #scene(
    context: CanvasRenderingContext2D, tracks: readonly Track[], width: number,
  ): Scene {
    const size = { width, left: this.#left, right: this.#right };
    return { context, tracks, axis: this.#axis, size, palette: palette() };
  }

  #fit(host: HTMLElement, width: number, height: number): CanvasRenderingContext2D {
    const canvas = host.querySelector("canvas")!;
    const context = canvas.getContext("2d");
    if (context === null) throw new Error("this browser draws no canvas");
    const ratio = window.devicePixelRatio || 1;
    host.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return context;
  }

  #place(width: number, share: number, { from, to }: Span): void {
    const room = width - this.#left - this.#right;
    const part = (share - from) / (to - from);
    this.#head.hidden = part < 0 || part > 1;
    this.#head.style.transform = `translateX(${part * room}px)`;
    this.#stripHead.style.transform = `translateX(${share * room}px)`;
    this.#window.style.left = `${from * 100}%`;
    this.#window.style.width = `${(to - from) * 100}%`;
    this.#window.classList.toggle("whole", isWhole({ from, to }));
  }

  #look(span: Span): void {
    const { from, to } = this.session.state.span;
    if (span.from !== from || span.to !== to) this.session.store.set({ span });
  }

  // ---- the pointer

  readonly #scrub = (event: PointerEvent): void => {
    this.session.playback.pause();
    this.#drag(this.#slider, event, (share) => {
      const { from, to } = this.session.state.span;
      this.#go(from + share * (to - from));
    });
  };

  /** Go to a share of the run. */
  #go(share: number): void {
    const { playback, state } = this.session;
    const place = share * this.#axis.end;
    const lead = state.seen[state.focus];
    if (this.#axis.kind === "bytes") playback.seek(place);
    else if (lead) playback.jump(state.focus, stepAt(this.#axis, lead, place));
  }

  /** In the strip: take an edge of the window, or the window; elsewhere choose another one. */
  readonly #choose = (event: PointerEvent): void => {
    const { span } = this.session.state;
    const { least, end } = this.#axis;
    const width = this.#bar.clientWidth;
    const grip = GRIP / width;
    const start = shareOf(this.#bar, event);
    const whole = isWhole(span);
    const near = (share: number): boolean => !whole && Math.abs(start - share) <= grip;
    let moved = false;
    this.#drag(this.#bar, event, (share) => {
      moved ||= Math.abs(share - start) * width > 3;
      if (!moved) return;
      if (near(span.from)) this.#look(between(share, span.to, least / end));
      else if (near(span.to)) this.#look(between(span.from, share, least / end));
      else if (!whole && start > span.from && start < span.to) {
        this.#look(panned(span, share - start));
      } else this.#look(between(start, share, least / end));
    }, () => {
      if (!moved) this.#go(start);
    });
  };

  #drag(
    host: HTMLElement, event: PointerEvent, act: (share: number) => void, done = () => undefined,
  ): void {
    host.setPointerCapture(event.pointerId);
    const go = (one: PointerEvent): void => act(shareOf(host, one));
    go(event);
    const stop = (): void => {
      host.removeEventListener("pointermove", go);
      host.removeEventListener("pointerup", stop);
      host.removeEventListener("pointercancel", stop);
      done();
    };
    host.addEventListener("pointermove", go);
    host.addEventListener("pointerup", stop);
    host.addEventListener("pointercancel", stop);
  }

  /** Ctrl and the wheel, or two fingers, zoom; the wheel sideways moves what is in view. */
  readonly #wheel = (event: WheelEvent): void => {
    const { span } = this.session.state;
    const length = span.to - span.from;
    if (event.ctrlKey || event.metaKey) {
      const around = span.from + shareOf(this.#slider, event) * length;
      const { least, end } = this.#axis;
      this.#look(zoomed(span, Math.exp(event.deltaY / 200), around, least / end));
    } else {
      const by = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (by === 0 || isWhole(span)) return;
      this.#look(panned(span, (by / this.#slider.clientWidth) * length));
    }
    event.preventDefault();
  };
}

function shareOf(host: HTMLElement, { clientX }: MouseEvent): number {
  const box = host.getBoundingClientRect();
  return Math.max(0, Math.min(1, (clientX - box.left) / box.width));
}
