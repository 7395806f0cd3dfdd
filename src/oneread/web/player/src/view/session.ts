// What a person can do on the page: choose kernels, change them, run them, look at them.
import { type Engine, Refusal, type Request } from "../engine";
import { type Fault, Recording, type Trace, isWatchable } from "../model";
import { t } from "../strings";
import { breath } from "./breath";
import { watchColours } from "./colours";
import { keep, kept } from "./kept";
import { Kernels } from "./kernels";
import { type Linked, LinkKeeper } from "./linking";
import { Mending } from "./mending";
import { Playback } from "./playback";
import { Seen } from "./seen";
import {
  FIRST_KERNELS,
  FIRST_LAUNCH,
  type Launch,
  type PageState,
  type Side,
  type Slot,
  type Theme,
  askedFor,
  initialState,
  refusedOf,
  requestOf,
} from "./state";
import { Store } from "./store";
import { applyTheme, keepTheme, readTheme } from "./theme";

/** How long the keyboard has to rest before an edited kernel is run, in milliseconds. */
const REST = 700;

export class Session {
  readonly store = new Store<PageState>(initialState());
  readonly playback = new Playback(this.store);
  readonly mending = new Mending(this);
  readonly kernels = new Kernels(this);
  /** Put the cursor into the editor; set by the panel that has one. */
  focusEditor: () => void = () => undefined;
  readonly #links = new LinkKeeper(this);
  #asked = 0;
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly engine: Engine) {}

  get state(): Readonly<PageState> {
    return this.store.state;
  }

  /** What has to hold before anything is drawn. */
  prepare(): void {
    const theme = readTheme();
    const toured = kept("tour") !== null;
    this.store.set({ theme, toured, shortcuts: kept("shortcuts") !== "off" });
    applyTheme(theme);
    watchColours();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      applyTheme(this.state.theme);
      this.#redraw();
    });
  }

  /** Load what the address, the document or the first view asks for, and run it. */
  async start(): Promise<void> {
    const linked = await this.#links.read();
    if (linked) {
      const { watched, lane, side, tables } = linked;
      this.store.set({ watched, lane, side, tables });
    }
    if (this.engine.live) {
      await this.#startLive(linked);
    } else {
      this.store.set({ catalogue: await this.engine.catalogue() });
      await this.#take(await this.engine.trace(requestOf([], FIRST_LAUNCH)), true);
    }
    if (!this.#place(linked) && !linked) this.focus(Math.min(1, this.state.slots.length - 1));
    this.#links.follow();
  }

  async #startLive(linked: Linked | null): Promise<void> {
    const launch = linked?.launch ?? FIRST_LAUNCH;
    const asked: Linked["kernels"] = linked?.kernels ?? FIRST_KERNELS.map((key) => ({ key }));
    const request = { ...requestOf([], launch), kernels: asked.map(askedFor) };
    // The run does not wait for the catalogue: whoever opens the page sees it move sooner.
    await this.#run(request, async () => {
      this.store.set({ catalogue: await this.engine.catalogue() });
      const slots = asked.map((one): Slot => {
        const known = this.kernels.slot(one.key);
        return one.text === undefined ? known : { ...known, text: one.text };
      });
      // The text that will be looked at is there before its run is.
      const focus = Math.min(linked?.place?.kernel ?? (linked ? 0 : 1), slots.length - 1);
      this.store.set({ slots, launch, focus, seen: slots.map(() => null) });
    });
  }

  #place(linked: Linked | null): boolean {
    const place = linked?.place;
    if (!place) return false;
    this.focus(Math.min(place.kernel, this.state.slots.length - 1));
    return this.playback.restore(this.state.focus, place.line, place.hit);
  }

  // ---- runs

  /** Run what is on the page. */
  async run(): Promise<void> {
    clearTimeout(this.#rest);
    if (this.state.slots.length === 0) return; // the first run is on its way
    if (!this.engine.live) {
      this.store.set({ refused: { kind: "recorded", message: "", diagnostics: [] } });
      return;
    }
    this.playback.pause();
    await this.#run(requestOf(this.state.slots, this.state.launch));
  }

  async #run(request: Request, meanwhile = async (): Promise<void> => undefined): Promise<void> {
    const refusal = await this.ask(async (current) => {
      const answer = this.engine.trace(request);
      answer.catch(() => undefined); // it may be refused before it is waited for
      await meanwhile();
      const trace = await answer;
      if (current()) await this.#take(trace, false, current);
    });
    if (refusal === null) return;
    const refused = refusedOf(refusal);
    this.store.set({ refused, stale: true, repair: null, shown: null });
    const source = refused.diagnostics[0]?.source;
    if (source !== undefined) this.focus(source);
  }

  /**
   * Do something with the server, and return why it refused. It does the newest thing that a page
   * asks for and ends what was asked for before: of that nothing is told, whatever its answer.
   */
  async ask(work: (current: () => boolean) => Promise<void>): Promise<Refusal | null> {
    const number = ++this.#asked;
    const current = (): boolean => number === this.#asked;
    this.store.set({ running: true });
    try {
      await work(current);
      return null;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return current() ? error : null;
    } finally {
      if (current()) this.store.set({ running: false });
    }
  }

  /**
   * Show a trace, unless it was overtaken meanwhile; the playhead stays at the same execution of
   * the same line. It is read piece by piece, so that the page answers in between.
   */
  async #take(trace: Trace, remake: boolean, current = (): boolean => true): Promise<void> {
    const read: Seen[] = [];
    for (const run of trace.runs) {
      const one = new Seen(new Recording(run));
      for (const _ of one.prepare()) await breath();
      read.push(one);
    }
    if (current()) this.#put(trace, read, remake);
  }

  #put(trace: Trace, seen: readonly Seen[], remake: boolean): void {
    const { seen: before, focus, slots, watched } = this.state;
    const place = before[focus]?.player.place();
    const asked = trace.runs.flatMap((run) => run.watches.filter((one) => one.label === "user"));
    const same = !remake && seen.length === slots.length;
    this.store.set({
      seen,
      slots: same ? slots : seen.map((one) => this.kernels.slotOfRun(one)),
      focus: Math.min(focus, seen.length - 1),
      watched: [...new Set([...watched, ...asked.map((one) => one.name)])],
      refused: null,
      stale: false,
      shown: null,
      paired: [],
      repair: null,
    });
    if (!(place && this.playback.restore(this.state.focus, place.line, place.hit))) {
      this.playback.first();
    }
  }

  focus(slot: number): void {
    if (slot >= 0 && slot < this.state.slots.length) this.store.set({ focus: slot });
  }

  // ---- changes

  /** Take a changed text; it is run when the keyboard rests. */
  edit(slot: number, text: string): void {
    this.setText(slot, text);
    this.#runLater(REST);
  }

  setText(slot: number, text: string): void {
    const slots = this.state.slots.map((one, index) => (index === slot ? { ...one, text } : one));
    this.store.set({ slots, repair: null, probing: null });
  }

  revert(slot: number): void {
    const one = this.state.slots[slot];
    if (!one) return;
    this.setText(slot, one.original);
    void this.run();
  }

  setLaunch(change: Partial<Launch>): void {
    this.store.set({ launch: { ...this.state.launch, ...change } });
    this.#runLater(REST / 4);
  }

  #runLater(after: number): void {
    clearTimeout(this.#rest);
    this.#rest = setTimeout(() => void this.run(), after);
  }

  // ---- looking

  /** Go to where a fault shows, and point at it. */
  show(slot: number, fault: Fault): void {
    const seen = this.state.seen[slot];
    if (!seen) return;
    this.playback.pause();
    this.store.set({ focus: slot, shown: { slot, fault }, side: "code" });
    this.playback.jump(slot, seen.recording.indexOf(fault.step));
  }

  nextFinding(): void {
    const fault = this.playback.finding();
    if (fault) this.store.set({ shown: { slot: this.state.focus, fault }, side: "code" });
    else this.say(t.findings.none);
  }

  /** Show a variable or a formula in the chart; false where the kernel in focus has none such. */
  watch(text: string): boolean {
    const wanted = text.trim();
    const recording = this.state.seen[this.state.focus]?.recording;
    if (!recording || !isWatchable(recording, wanted)) {
      if (wanted) this.say(t.chart.noFormula(wanted));
      return false;
    }
    this.store.set({ watched: [...new Set([...this.state.watched, wanted])] });
    return true;
  }

  unwatch(text: string): void {
    this.store.set({ watched: this.state.watched.filter((one) => one !== text) });
  }

  /** Look at the steps of another warp alone; beyond the last one, at all again. */
  followWarp(by: 1 | -1): void {
    const { lead } = this.playback;
    if (!lead) return;
    const { player, recording, block } = lead;
    const all = [null, ...Array.from({ length: recording.warps }, (_, warp) => ({ block, warp }))];
    const at = all.findIndex((one) => one?.warp === player.follow?.warp);
    player.follow = all[(at + by + all.length) % all.length] ?? null;
    this.say(t.deck.follows(player.follow?.warp));
  }

  /** Look at the values of another lane. */
  pickLane(by: 1 | -1): void {
    const lead = this.playback.lead;
    if (!lead) return;
    const lane = (lead.laneOf(this.state.lane) + by + 32) % 32;
    this.store.set({ lane });
    this.say(t.deck.lane(lane));
  }

  /** Read code or lesson: that with a kernel that can be explained, best one that corrects d. */
  openSide(side: Side): void {
    this.store.set({ side });
    const { seen, focus } = this.state;
    const worth = seen.map((one) => one?.explained ?? 0);
    if (side === "lesson" && worth[focus] === 0) this.focus(worth.indexOf(Math.max(...worth)));
  }

  openEditor(): void {
    this.store.set({ side: "code" });
    setTimeout(() => this.focusEditor());
  }

  tour(stop: number | null): void {
    this.playback.pause();
    keep("tour", "seen");
    this.store.set({ tour: stop, toured: true, side: "code" });
  }

  setTheme(theme: Theme): void {
    keepTheme(theme);
    applyTheme(theme);
    this.store.set({ theme });
    this.#redraw();
  }

  #redraw(): void {
    this.store.set({ moves: this.state.moves + 1, near: false });
  }

  setShortcuts(shortcuts: boolean): void {
    keep("shortcuts", shortcuts ? null : "off");
    this.store.set({ shortcuts });
  }

  async share(): Promise<void> {
    const url = await this.#links.url();
    history.replaceState(null, "", url);
    try {
      await navigator.clipboard.writeText(url);
      this.say(t.said.copied);
    } catch {
      this.say(t.said.inAddress);
    }
  }

  say(said: string): void {
    this.store.set({ said });
  }
}
