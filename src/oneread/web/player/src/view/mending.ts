// What the page asks of the server besides runs: repairs, other launches, an export.
import type { Mended, Request } from "../engine";
import { isWatchable } from "../model";
import { t } from "../strings";
import type { Session } from "./session";
import { type Probing, refusedOf, requestOf } from "./state";

export class Mending {
  constructor(private readonly session: Session) {}

  /** Mend the faults of a kernel, run it again, and say what was changed. */
  async mend(slot: number): Promise<void> {
    const { store, engine } = this.session;
    const before = store.state.slots[slot]?.text ?? "";
    const found: Mended[] = [];
    await this.#ask(async (current) => {
      const mended = await engine.fix(this.#requestOf(slot));
      if (current()) found.push(mended);
    });
    const [mended] = found;
    if (!mended) return;
    const changed = mended.text !== before;
    if (changed) {
      this.session.setText(slot, mended.text);
      await this.session.run();
    }
    const { slots, stale } = store.state;
    // Something else may have been asked for, or typed, meanwhile.
    if (stale || slots[slot]?.text !== mended.text) return;
    store.set({ repair: { ...mended, slot, before: changed ? before : null } });
  }

  /** Put the text back that was there before a repair, and run it. */
  undo(): void {
    const { repair } = this.session.state;
    if (!repair || repair.before === null) return;
    this.session.setText(repair.slot, repair.before);
    void this.session.run();
  }

  /** Try other launches of a kernel, piece by piece, until something else is asked for. */
  async probe(slot: number): Promise<void> {
    const { store, engine } = this.session;
    let probing: Probing = {
      ...{ slot, done: 0, parts: 1, launches: 0, stopped: 0, findings: [], over: false },
    };
    const tell = (change: Partial<Probing>): void => {
      // Something else may be on the page now.
      if (store.state.probing !== probing) return;
      probing = { ...probing, ...change };
      store.set({ probing });
    };
    store.set({ probing });
    const request = this.#requestOf(slot);
    await this.#ask(async (current) => {
      while (current() && store.state.probing === probing && probing.done < probing.parts) {
        const piece = await engine.probe(request, probing.done);
        tell({
          done: probing.done + 1,
          parts: piece.parts,
          launches: probing.launches + piece.launches,
          stopped: probing.stopped + piece.stopped,
          findings: [...probing.findings, ...piece.findings],
        });
      }
    });
    tell({ over: true });
  }

  async export(): Promise<void> {
    const { engine, state } = this.session;
    await this.#ask(async () => {
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

  async #ask(work: (current: () => boolean) => Promise<void>): Promise<void> {
    let overtaken = false;
    const refusal = await this.session.ask(async (current) => {
      try {
        await work(current);
      } finally {
        overtaken = !current();
      }
    });
    if (overtaken) this.session.say(t.said.overtaken);
    else if (refusal) this.session.store.set({ refused: refusedOf(refusal) });
  }
}
