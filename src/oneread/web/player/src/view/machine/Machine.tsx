// The machine: HBM, SRAM and registers of each kernel, side by side in the same bands.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../strings";
import { palette } from "../colours";
import type { Seen } from "../seen";
import type { Session } from "../session";
import { usePressedInSight } from "../pressed";
import { useSession } from "../state";
import { useStore } from "../store";
import { Heading } from "./Heading";
import { type Contents, contentsOf } from "./contents";
import { type Plan, hit, isSame, plans } from "./plan";
import { Stage, measure } from "./stage";
import { cellText } from "./tip";

/** Narrower than this, in rem, one kernel is shown at a time. */
const NARROWEST = 15;

export function Machine(): JSX.Element {
  const session = useSession();
  const { store } = session;
  const slots = useStore(store, (state) => state.slots);
  const focus = useStore(store, (state) => state.focus);
  const stale = useStore(store, (state) => state.stale);
  const box = useRef<HTMLDivElement>(null);
  const [alone, setAlone] = useState(false);
  useLayoutEffect(() => {
    const look = (): void => {
      const rem = palette().rem;
      setAlone((box.current?.clientWidth ?? 0) / slots.length < NARROWEST * rem);
    };
    look();
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, [slots.length]);
  const shown = slots.map((_, index) => index).filter((index) => !alone || index === focus);
  useMachines(session, box, shown);
  return (
    <section
      class={stale ? "card machine stale" : "card machine"}
      id="machine"
      aria-label={t.machine.title}
    >
      {alone && slots.length > 1 ? <KernelTabs /> : null}
      <div class="columns" ref={box} data-kernels={shown.length}>
        {shown.map((index) => (
          <div
            class={`column${index === focus ? " focus" : ""}`}
            key={slots[index]?.id}
            data-slot={index}
            onPointerDown={() => session.focus(index)}
          >
            <Heading slot={index} alone={slots.length === 1} />
            <div class="stage-host" aria-hidden="true" />
          </div>
        ))}
      </div>
      <div class="tip" aria-hidden="true" hidden />
    </section>
  );
}

function KernelTabs(): JSX.Element {
  const session = useSession();
  const slots = useStore(session.store, (state) => state.slots);
  const focus = useStore(session.store, (state) => state.focus);
  const box = usePressedInSight(focus);
  return (
    <div class="kernel-tabs" role="group" aria-label={t.machine.kernels} ref={box}>
      {slots.map((slot, index) => (
        <button
          key={slot.id}
          type="button"
          class="button small"
          aria-pressed={index === focus}
          onClick={() => session.focus(index)}
        >
          <span class="mono">{slot.key}</span>
        </button>
      ))}
    </div>
  );
}

/** Keep the canvases of the columns up to date with the store, at most once a frame. */
function useMachines(
  session: Session,
  box: { current: HTMLDivElement | null },
  shown: readonly number[],
): void {
  const ids = shown.map((index) => session.state.slots[index]?.id).join();
  useEffect(() => {
    const outer = box.current;
    if (!outer) return;
    const machines = new Machines(session, outer);
    return () => machines.destroy();
  }, [session, ids, box]);
}

class Machines {
  readonly #stages = new Map<number, Stage>();
  readonly #plans = new Map<number, Plan>();
  readonly #undo: (() => void)[] = [];
  #frame = 0;
  /** Whether the page has no run yet: the first one is drawn a picture a frame. */
  readonly #patient: boolean;
  #begun = false;
  #key = "";
  #arranged: readonly Seen[] = [];
  #gutter = 0;
  /** Of all columns: to ask for it in each frame would have the page laid out in each. */
  #width = 0;

  constructor(
    private readonly session: Session,
    private readonly outer: HTMLElement,
  ) {
    this.#patient = session.state.seen.every((one) => one === null);
    for (const column of outer.querySelectorAll<HTMLElement>(".column")) {
      const host = column.querySelector<HTMLElement>(".stage-host");
      const slot = Number(column.dataset["slot"]);
      if (host) this.#stages.set(slot, new Stage(host));
      if (host) this.#listen(host, slot);
    }
    const observer = new ResizeObserver(() => {
      this.#width = outer.clientWidth;
      this.#later();
    });
    observer.observe(outer);
    this.#width = outer.clientWidth;
    this.#undo.push(() => observer.disconnect(), session.store.listen(this.#later));
    this.#draw();
  }

  readonly #later = (): void => {
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  };

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    for (const undo of this.#undo) undo();
    for (const stage of this.#stages.values()) stage.destroy();
  }

  #draw(): void {
    this.#frame = 0;
    const { state } = this.session;
    const seen = [...this.#stages.keys()].flatMap((slot) => {
      const one = state.seen[slot];
      return one ? [[slot, one] as const] : [];
    });
    if (seen.length === 0) return;
    if (this.#patient && !this.#begun) {
      this.#begun = true;
      this.#later(); // the code and the timeline have this frame
      return;
    }
    this.#arrange(seen);
    for (const [slot, one] of seen) {
      const [stage, plan] = [this.#stages.get(slot), this.#plans.get(slot)];
      if (!stage || !plan) continue;
      const first = stage.blank;
      stage.draw(one, plan, {
        lane: one.laneOf(state.lane),
        shown: state.shown?.slot === slot ? state.shown : null,
        gutter: this.#gutter,
        moving: state.near && state.speed < 4 && !still(),
        speed: state.playing ? Math.max(1, state.speed) : 1,
      });
      if (!first || !this.#patient) continue;
      this.#later();
      return;
    }
  }

  /** Make new plans where what is shown, or the room for it, is another. */
  #arrange(seen: readonly (readonly [number, Seen])[]): void {
    const colours = palette();
    const width = Math.floor(this.#width / this.#stages.size);
    for (const [slot, one] of seen) this.#stages.get(slot)?.follow(one);
    const contents = seen.map(([slot, one]): Contents & { passes: number } => ({
      ...contentsOf(one, this.#stages.get(slot)?.windows ?? new Map(), one.step?.warp ?? 0),
      passes: passesOf(one),
    }));
    const key = JSON.stringify([
      width,
      devicePixelRatio,
      colours.rem,
      seen.map(([slot]) => slot),
      contents.map((one) => [one.global.map(({ window }) => window), one.warps]),
    ]);
    const same =
      seen.length === this.#arranged.length &&
      seen.every(([, one], at) => one === this.#arranged[at]);
    if (same && key === this.#key) return;
    this.#key = key;
    const before = this.#arranged;
    this.#arranged = seen.map(([, one]) => one);
    const names = contents.flatMap((one) => [
      ...one.global.map(({ buffer }) => buffer.name),
      ...one.arrays.map((buffer) => buffer.name),
      ...one.variables,
    ]);
    this.#gutter = measure([...names, "row 00"], colours, width * 0.27);
    const made = plans(contents, width, colours.rem, this.#gutter, devicePixelRatio || 1);
    seen.forEach(([slot, one], index) => {
      const old = this.#plans.get(slot);
      // Where another kernel alone has changed, this one's picture stays.
      if (old && one === before[index] && isSame(old, made[index]!)) return;
      this.#plans.set(slot, made[index]!);
    });
  }

  // ---- the pointer

  #listen(host: HTMLElement, slot: number): void {
    const tip = this.outer.parentElement?.querySelector<HTMLElement>(".tip");
    if (!tip) return;
    const at = (event: PointerEvent | MouseEvent) => {
      const plan = this.#plans.get(slot);
      const seen = this.session.state.seen[slot];
      const box = host.getBoundingClientRect();
      const found = plan && hit(plan, event.clientX - box.left, event.clientY - box.top);
      return found && seen ? { ...found, seen } : null;
    };
    host.addEventListener("pointermove", (event) => {
      const found = at(event);
      tip.hidden = !found;
      if (!found) return;
      tip.textContent = cellText(found.seen, found.plot, found.index);
      const outer = tip.parentElement!.getBoundingClientRect();
      const left = Math.min(event.clientX - outer.left + 14, outer.width - tip.offsetWidth - 4);
      tip.style.left = `${Math.max(4, left)}px`;
      tip.style.top = `${event.clientY - outer.top + 16}px`;
    });
    host.addEventListener("pointerleave", () => (tip.hidden = true));
    host.addEventListener("click", (event) => {
      const found = at(event);
      if (!found) return;
      const { plot, index, seen } = found;
      if (plot.buffer === null) {
        this.session.store.set({ lane: index % 32 });
        return;
      }
      const cell = seen.recording
        .state(seen.at)
        .cell(plot.buffer, plot.first + index, { block: seen.block });
      if (cell.step >= 0) this.session.playback.jump(slot, cell.step);
    });
  }
}

/** How often the kernel reads its inputs: as many bars under each element. */
function passesOf(seen: Seen): number {
  return Math.min(4, Math.max(1, ...seen.passes.map((one) => one.number)));
}

/** Whether nothing should move by itself. */
export function still(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
