// The text of the kernel in focus, with what the run says beside it.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../strings";
import { Editor } from "../editor/editor";
import { Icon } from "../Icons";
import { usePressedInSight } from "../pressed";
import type { Session } from "../session";
import { edited, isBroken, useSession } from "../state";
import { useStore } from "../store";
import { factsOf, remarksOf, runningOf } from "./facts";

export function Code(): JSX.Element {
  const session = useSession();
  const box = useRef<HTMLDivElement>(null);
  const dock = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!box.current || !dock.current) return;
    const panel = new CodePanel(session, box.current, dock.current);
    return () => panel.destroy();
  }, [session]);
  return (
    <div class="code">
      <Files />
      <div class="editor" ref={box} id="editor" />
      <Refusal />
      <p class="legend soft" aria-hidden="true">
        <span class="dock" ref={dock} />
        <Legend />
      </p>
    </div>
  );
}

/** Which kernel's text is shown. */
function Files(): JSX.Element {
  const session = useSession();
  const slots = useStore(session.store, (state) => state.slots);
  const focus = useStore(session.store, (state) => state.focus);
  const now = slots[focus];
  const box = usePressedInSight(focus);
  return (
    <div class="files">
      <div class="files-list" role="group" aria-label={t.machine.kernels} ref={box}>
        {slots.map((slot, index) => (
          <button
            key={slot.id}
            type="button"
            class="file"
            aria-pressed={index === focus}
            onClick={() => session.focus(index)}
          >
            <span class="mono">{slot.key}</span>
            {edited(slot) ? <span class="dot" title={t.code.edited} /> : null}
            <Worst slot={index} />
          </button>
        ))}
      </div>
      {now && edited(now) && session.engine.live ? (
        <button type="button" class="button small bare" onClick={() => session.revert(focus)}>
          <Icon name="undo" /> {t.code.revert}
        </button>
      ) : null}
    </div>
  );
}

function Worst({ slot }: { slot: number }): JSX.Element | null {
  const { store } = useSession();
  const seen = useStore(store, (state) => state.seen[slot] ?? null);
  const broken = useStore(store, (state) => isBroken(state, slot));
  const stale = useStore(store, (state) => state.stale);
  if (broken) return <span class="flag error" title={t.machine.refused} />;
  const faults = stale ? [] : (seen?.recording.run.faults ?? []);
  const worst = ["error", "warning"].find((one) => faults.some((two) => two.severity === one));
  return worst ? (
    <span class={`flag ${worst}`} title={t.machine.severity[worst as "error"]} />
  ) : null;
}

function Refusal(): JSX.Element | null {
  const session = useSession();
  const refused = useStore(session.store, (state) => state.refused);
  if (!refused) return null;
  const first = refused.diagnostics[0];
  const where = first ? `${t.code.line(first.line, first.column)} ` : "";
  const text = t.refused(refused.kind, refused.message || session.engine.command);
  return (
    <div class="refusal" role="alert">
      <Icon name="error" />
      <p>
        {where ? <b>{where}</b> : null}
        {first ? first.message : text}
        {first?.hint ? <span class="hint">{first.hint}</span> : null}
        {refused.kind === "recorded" ? <code class="command">{session.engine.command}</code> : null}
      </p>
    </div>
  );
}

function Legend(): JSX.Element {
  return (
    <>
      <span>
        <i class="swatch hbm" /> {t.code.legend.global}
      </span>
      <span>
        <i class="swatch sram" /> {t.code.legend.shared}
      </span>
    </>
  );
}

/** Played faster than this, lines change before they are read. */
const READABLE = 2;

type Watched = "slot" | "seen" | "refused" | "shown" | "paired" | "place";

/** Keeps the editor and the store in step. */
class CodePanel {
  readonly #editor: Editor;
  readonly #undo: () => void;
  #last: Partial<Record<Watched, unknown>> = {};
  #frame = 0;

  constructor(
    private readonly session: Session,
    box: HTMLElement,
    dock: HTMLElement,
  ) {
    const { store, playback } = session;
    this.#editor = new Editor(box, dock, {
      changed: (text) => session.edit(store.state.focus, text),
      run: () => void session.run(),
      moved: (line) => store.set({ cursor: line }),
      rerun: () => void session.run(),
      readOnly: () => !session.engine.live,
      visit: (line, backwards) => {
        if (!playback.visit(line, backwards)) session.say(t.code.neverRuns(line));
      },
    });
    session.focusEditor = () => this.#editor.focus();
    this.#undo = store.listen(() => {
      this.#frame ||= requestAnimationFrame(() => this.#draw());
    });
    this.#draw();
  }

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    this.#undo();
    this.#editor.destroy();
  }

  #draw(): void {
    this.#frame = 0;
    const { state } = this.session;
    const slot = state.slots[state.focus];
    if (!slot) return;
    const seen = state.seen[state.focus] ?? null;
    const renewed =
      this.#changed("slot", `${slot.id} ${state.running}`) || this.#last.seen !== seen;
    this.#editor.show(slot.text, !this.session.engine.live);
    // Counts are of the text that ran; while another one is being typed, they stay at their lines.
    const current = seen?.recording.run.source.text === slot.text;
    if (this.#changed("seen", seen) || renewed)
      this.#editor.facts(seen && current ? factsOf(seen) : new Map());
    if (this.#changed("refused", state.refused) || renewed) {
      this.#editor.remarks(remarksOf(state.refused, state.focus));
    }
    if (this.#changed("place", `${state.moves} ${state.lane} ${state.playing}`) || renewed) {
      const one = seen && current ? runningOf(seen, seen.laneOf(state.lane), slot.text) : null;
      this.#editor.running(one, state.playing && state.speed > READABLE);
    }
    this.#pair(renewed);
  }

  #pair(renewed: boolean): void {
    const { shown, paired, focus } = this.session.state;
    if (!this.#changed("shown", shown) && !this.#changed("paired", paired) && !renewed) return;
    const fault = shown?.slot === focus ? shown.fault : null;
    const lines = fault ? [fault.with_line, fault.line].filter((one) => one !== null) : paired;
    this.#editor.pair(lines);
  }

  #changed(name: Watched, value: unknown): boolean {
    if (Object.is(this.#last[name], value)) return false;
    this.#last[name] = value;
    return true;
  }
}
