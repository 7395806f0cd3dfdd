// What the page asks of the server besides runs: repairs, other launches, an export.
import { type Request, Refusal } from "../engine";
import { isWatchable } from "../model";
import { t } from "../strings";
import type { Session } from "./session";
import { requestOf } from "./state";

export class Mending {
  constructor(private readonly session: Session) {}

  /** Ask what mends the faults of a kernel, and show it before it is taken. */
  async propose(slot: number): Promise<void> {
    await this.#guarded(async () => {
      const mended = await this.session.engine.fix(this.#requestOf(slot));
      this.session.store.set({ proposal: { ...mended, slot } });
    });
  }

  /** Take what was proposed, and run it. */
  take(): void {
    const { proposal } = this.session.state;
    if (!proposal) return;
    this.session.setText(proposal.slot, proposal.text);
    void this.session.run();
  }

  /** Try other launches of a kernel, piece by piece. */
  async probe(slot: number): Promise<void> {
    const { store, engine } = this.session;
    await this.#guarded(async () => {
      const request = this.#requestOf(slot);
      store.set({ probing: { slot, done: 0, parts: 1, launches: 0, findings: [] } });
      for (let part = 0, parts = 1; part < parts; part++) {
        const piece = await engine.probe(request, part);
        const { probing } = store.state;
        if (probing === null || probing.slot !== slot) return; // something else is on the page now
        parts = piece.parts;
        const findings = [...probing.findings, ...piece.findings];
        const launches = probing.launches + piece.launches;
        store.set({ probing: { slot, done: part + 1, parts, launches, findings } });
      }
    });
  }

  async export(): Promise<void> {
    const { engine, state } = this.session;
    await this.#guarded(async () => {
      // What is watched goes along, so that the recording opens with it.
      const watch = state.watched.filter((text) =>
        state.seen.every((one) => one && isWatchable(one.recording, text)),
      );
      const blob = await engine.exported({ ...requestOf(state.slots, state.launch), watch });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `oneread-${state.slots.map((one) => one.key).join("-")}.html`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      this.session.say(t.said.exported);
    });
  }

  #requestOf(slot: number): Request {
    const { slots, launch } = this.session.state;
    return requestOf(slots.slice(slot, slot + 1), launch);
  }

  async #guarded(action: () => Promise<void>): Promise<void> {
    const { store } = this.session;
    store.set({ running: true });
    try {
      await action();
      store.set({ running: false });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { kind, message, diagnostics } = error;
      store.set({ running: false, refused: { kind, message, diagnostics } });
    }
  }
}
