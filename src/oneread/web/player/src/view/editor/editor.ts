// The text of a kernel, to read and to change.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import {
  bracketMatching,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { t } from "../../strings";
import { breath } from "../breath";
import { type GutterActions, type LineFacts, gutters, setFacts } from "./gutters";
import {
  Badge,
  type Remark,
  type Running,
  paired,
  remarks,
  setPaired,
  setRemarks,
} from "./marks";

/** Where lines change faster than they are read, text rests so long, in milliseconds. */
const CALM = 700;

export interface EditorActions extends GutterActions {
  changed(text: string): void;
  run(): void;
  /** The cursor went to another line. */
  moved(line: number): void;
}

export class Editor {
  readonly #view: EditorView;
  readonly #editable = new Compartment();
  readonly #language = new Compartment();
  #quiet = false;
  /** At the end of the line that runs, over the text: a long line does not push it out of sight. */
  readonly #badge = new Badge();
  #badged = false;
  /** Behind the line that runs: moved from line to line, the text itself is left alone. */
  readonly #strip = document.createElement("div");
  /** The line that runs, 0 where none is marked. */
  #line = 0;
  #paired: readonly number[] = [];
  /** What is asked for at each step, kept so that asking for it has nothing laid out. */
  #sizes = { width: 0, height: 0, left: 0 };
  #top = 0;
  /** When the text was last scrolled to a line. */
  #revealed = -Infinity;
  readonly #observer: ResizeObserver;

  constructor(
    parent: HTMLElement,
    private readonly dock: HTMLElement,
    actions: EditorActions,
  ) {
    this.#view = new EditorView({ parent, state: this.#state("", actions) });
    const { scrollDOM, contentDOM } = this.#view;
    this.#strip.className = "running-line";
    this.#strip.setAttribute("aria-hidden", "true");
    this.#strip.hidden = true;
    scrollDOM.append(this.#strip);
    this.#observer = new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height, scrollTop } = scrollDOM;
      this.#sizes = { width, height, left: contentDOM.offsetLeft };
      this.#top = scrollTop;
      this.#strip.style.left = `${contentDOM.offsetLeft}px`;
      this.#strip.style.width = `${contentDOM.offsetWidth}px`;
    });
    this.#observer.observe(scrollDOM);
    this.#observer.observe(contentDOM);
    const scrolled = (): void => {
      this.#top = scrollDOM.scrollTop;
      this.#place();
    };
    scrollDOM.addEventListener("scroll", scrolled, { passive: true });
    void this.#colour();
  }

  #state(text: string, actions: EditorActions): EditorState {
    const keys = [
      { key: "Mod-Enter", run: () => (actions.run(), true) },
      { key: "Escape", run: (view: EditorView) => (view.contentDOM.blur(), true) },
    ];
    return EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of(keys)),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of("    "),
        bracketMatching(),
        highlightActiveLine(),
        this.#language.of([]),
        syntaxHighlighting(classHighlighter),
        gutters(actions),
        EditorView.domEventHandlers({ beforeinput: replaced }),
        [paired, remarks],
        this.#editable.of([]),
        EditorView.contentAttributes.of({
          "aria-label": t.code.editor,
          spellcheck: "false",
          tabindex: "0",
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !this.#quiet) actions.changed(update.state.doc.toString());
          if (update.geometryChanged) this.#place();
          if (update.selectionSet || update.docChanged) {
            actions.moved(update.state.doc.lineAt(update.state.selection.main.head).number);
          }
        }),
      ],
    });
  }

  /** Colour the text as C++: its grammar is unpacked when the page stands. */
  async #colour(): Promise<void> {
    await breath();
    const { cpp } = await import("@codemirror/lang-cpp");
    if (!this.#view.dom.isConnected) return;
    this.#view.dispatch({ effects: this.#language.reconfigure(cpp()) });
  }

  /** Put another text there; what was undone or marked before is gone. */
  show(text: string, readOnly: boolean): void {
    const view = this.#view;
    if (view.state.doc.toString() !== text) {
      this.#quiet = true;
      this.#mark(0);
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        effects: [setRemarks.of([]), setPaired.of([]), setFacts.of(new Map())],
      });
      this.#quiet = false;
    }
    if (view.state.readOnly === readOnly) return;
    const lock = readOnly ? [EditorState.readOnly.of(true)] : [];
    view.dispatch({ effects: this.#editable.reconfigure(lock) });
  }

  facts(found: ReadonlyMap<number, LineFacts>): void {
    this.#view.dispatch({ effects: setFacts.of(found) });
  }

  remarks(all: readonly Remark[]): void {
    this.#view.dispatch({ effects: setRemarks.of(all) });
    if (all[0] !== undefined) this.reveal(all[0].line);
  }

  pair(lines: readonly number[]): void {
    this.#paired = lines;
    this.#mark(this.#line);
    this.#view.dispatch({ effects: setPaired.of(lines) });
    if (lines[0] !== undefined) this.reveal(lines[0]);
  }

  /** Mark what runs; where lines change fast, the text is not scrolled to each of them. */
  running(one: Running | null, fast: boolean): void {
    const known = one !== null && one.line <= this.#view.state.doc.lines;
    const now = performance.now();
    if (known && !(fast && now - this.#revealed < CALM) && this.reveal(one.line)) {
      this.#revealed = now;
    }
    this.#mark(known ? one.line : 0);
    const { element } = this.#badge;
    if (one === null) {
      element.remove();
      return;
    }
    this.#badge.tell(one);
    this.#badged = known && this.#fits(one) && !this.#placeOf(one.line).hidden;
    const host = this.#badged ? this.#view.dom : this.dock;
    if (element.parentElement !== host) {
      element.classList.toggle("inline", this.#badged);
      element.style.transform = "";
      element.hidden = false;
      host.append(element);
    }
    this.#place();
  }

  #mark(line: number): void {
    this.#line = line;
    this.#strip.hidden = line === 0;
    // A line that is pointed at has a colour of its own: the mark is before it.
    this.#strip.classList.toggle("pointed", this.#paired.includes(line));
  }

  /** Whether a line leaves room for the badge at its end. */
  #fits({ line, values }: Running): boolean {
    const { state, defaultCharacterWidth } = this.#view;
    const signs = state.doc.line(line).length + values.length;
    const room = this.#sizes.width - this.#sizes.left;
    return signs * defaultCharacterWidth + 11 * defaultCharacterWidth + 128 < room;
  }

  /** The marks of a line that runs stay with it when the text moves, or is scrolled. */
  #place(): void {
    if (this.#line === 0 || this.#line > this.#view.state.doc.lines) return;
    const { top, hidden } = this.#placeOf(this.#line);
    const height = `${this.#view.defaultLineHeight}px`;
    this.#strip.style.transform = `translateY(${top + this.#top}px)`;
    this.#strip.style.height = height;
    if (!this.#badged) return;
    const { element } = this.#badge;
    element.hidden = hidden;
    element.style.transform = `translateY(${top}px)`;
    element.style.height = height;
  }

  #placeOf(line: number): { top: number; hidden: boolean } {
    const { documentPadding, state } = this.#view;
    const block = this.#view.lineBlockAt(state.doc.line(line).from);
    const top = block.top - this.#top + documentPadding.top;
    return { top, hidden: top < 0 || top > this.#sizes.height - 8 };
  }

  /** Scroll the editor, never the page, so that a line is well inside; false where it is. */
  reveal(line: number): boolean {
    const { doc } = this.#view.state;
    if (line < 1 || line > doc.lines) return false;
    const { top, bottom } = this.#view.lineBlockAt(doc.line(line).from);
    const { height } = this.#sizes;
    const margin = Math.min(40, height / 8);
    if (top >= this.#top + margin && bottom <= this.#top + height - margin) return false;
    // Well inside, so that the next lines that run need no scrolling: text that stands is read.
    this.#top = Math.max(0, top - height * (top < this.#top + margin ? 0.6 : 0.3));
    this.#view.scrollDOM.scrollTop = this.#top;
    return true;
  }

  focus(): void {
    this.#view.focus();
  }

  destroy(): void {
    this.#observer.disconnect();
    this.#view.destroy();
  }
}

/**
 * Replace a selection with what is typed. The browser would do it itself, and keep the look of the
 * old text in a style attribute, which the policy of the page forbids.
 */
function replaced(event: InputEvent, view: EditorView): boolean {
  const { selection } = view.state;
  if (event.inputType !== "insertText" || event.isComposing || selection.main.empty) return false;
  if (view.state.readOnly || event.data === null) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type" });
  return true;
}
