// The kernels on the page: which ones, and how others come and go.
import type { CatalogueKernel } from "../engine";
import { WHOLE } from "./deck/axis";
import type { Seen } from "./seen";
import type { Session } from "./session";
import {
  FIRST_KERNELS,
  FIRST_LAUNCH,
  type Launch,
  MOST_KERNELS,
  type Slot,
  launchOf,
  slotOf,
} from "./state";

/** What a kernel of one's own is called. */
const OWN_NAME = "kernel.cu";

/** Short, right and slow: something to be made better. */
const OWN_TEXT = `// Your own kernel. A pointer to const is an input, another one an output; a block a row.
#include <math.h>

extern "C" __global__ void __launch_bounds__(32)
my_softmax(const float* x, float* y, int vocab) {
    const float* x_row = x + (size_t)blockIdx.x * vocab;
    float* y_row = y + (size_t)blockIdx.x * vocab;

    // Every lane reads the whole row: what would you do about it?
    float m = -INFINITY;
    float d = 0.0f;
    for (int i = 0; i < vocab; ++i) {
        const float m_new = fmaxf(m, x_row[i]);
        d = d * expf(m - m_new) + expf(x_row[i] - m_new);
        m = m_new;
    }
    for (int i = threadIdx.x; i < vocab; i += 32) y_row[i] = expf(x_row[i] - m) / d;
}
`;

export class Kernels {
  #next = 1;

  constructor(private readonly session: Session) {}

  /** A slot with a kernel of the gallery, or one that has no text of its own. */
  slot(key: string): Slot {
    const kernel = this.find(key);
    if (kernel) return slotOf(kernel, this.#next++);
    return { id: this.#next++, key, title: key, text: "", original: "", sequence: "" };
  }

  find(key: string): CatalogueKernel | undefined {
    return this.session.state.catalogue?.kernels.find((one) => one.key === key);
  }

  /** Put one kernel on the page, with the launch that it is known with; faults beside their fix. */
  open(key: string): void {
    const kernel = this.find(key);
    if (!kernel) {
      this.#replace([{ ...this.slot(key), sequence: key }], FIRST_LAUNCH, 0);
      return;
    }
    const keys = kernel.fault_of ? [key, kernel.fault_of] : [key];
    const launch = { ...FIRST_LAUNCH, ...launchOf(kernel) };
    this.#replace(
      keys.map((one) => this.slot(one)),
      launch,
      0,
    );
  }

  /** Put the first view back. */
  openFirst(): void {
    this.#replace(
      FIRST_KERNELS.map((key) => this.slot(key)),
      FIRST_LAUNCH,
      1,
    );
  }

  /** Put a kernel of one's own on the page, to begin with. */
  openOwn(): void {
    const slot = { ...this.slot(OWN_NAME), text: OWN_TEXT, original: OWN_TEXT };
    this.#replace([slot], { ...FIRST_LAUNCH, defines: "" }, 0);
    this.session.openEditor();
  }

  /** Put another kernel into a slot. */
  choose(slot: number, key: string): void {
    const slots = this.session.state.slots.map((one, index) =>
      index === slot ? this.slot(key) : one,
    );
    this.#replace(slots, this.session.state.launch, slot);
  }

  /** Put one more kernel beside the others: the first of the first view that is not there. */
  add(): void {
    const { slots, catalogue, launch } = this.session.state;
    if (slots.length >= MOST_KERNELS) return;
    const there = new Set(slots.map((one) => one.key));
    const keys = [...FIRST_KERNELS, ...(catalogue?.kernels.map((one) => one.key) ?? [])];
    const key = keys.find((one) => !there.has(one) && this.find(one));
    if (key !== undefined) this.#replace([...slots, this.slot(key)], launch);
  }

  remove(slot: number): void {
    const { slots, seen, focus } = this.session.state;
    if (slots.length < 2) return;
    const without = <One>(all: readonly One[]): One[] => all.filter((_, index) => index !== slot);
    const next = Math.max(0, focus > slot || focus === slots.length - 1 ? focus - 1 : focus);
    this.session.store.set({
      slots: without(slots),
      seen: without(seen),
      focus: next,
      span: WHOLE,
      shown: null,
      // Theirs is a slot by its number, which may be another kernel's now.
      repair: null,
      probing: null,
    });
  }

  /** Show the kernel in focus alone; or, where it is alone, another one beside it. */
  compare(): void {
    const { slots, focus } = this.session.state;
    if (slots.length === 1) {
      if (this.session.engine.live) this.add();
      return;
    }
    for (let slot = slots.length - 1; slot >= 0; slot--) if (slot !== focus) this.remove(slot);
  }

  #replace(slots: readonly Slot[], launch: Launch, focus = this.session.state.focus): void {
    const seen = slots.map((slot) => {
      const index = this.session.state.slots.indexOf(slot);
      return index < 0 ? null : (this.session.state.seen[index] ?? null);
    });
    this.session.store.set({
      slots,
      launch,
      seen,
      focus,
      span: WHOLE,
      shown: null,
      repair: null,
      probing: null,
    });
    void this.session.run();
  }

  /** A run whose kernel nobody put on the page: of a recording, or one of a sequence. */
  slotOfRun(seen: Seen): Slot {
    const { name, kernel, source } = seen.recording.run;
    const sequence = this.session.state.catalogue?.sequences.some((one) => one.key === name)
      ? name
      : "";
    const known = this.slot(this.find(kernel) ? kernel : name);
    return { ...known, text: source.text, original: known.original || source.text, sequence };
  }
}
