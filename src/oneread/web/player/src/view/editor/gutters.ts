// Columns beside the text: what each line costs, its faults, and a switch at each barrier.
import { RangeSet, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { type EditorView, GutterMarker, gutter, lineNumbers } from "@codemirror/view";
import { t } from "../../strings";

/** What a run counted at one line. */
export interface LineFacts {
  /** Bytes of global memory, as a share of the line that has most. */
  global: number;
  /** Requests of shared memory, as such a share. */
  shared: number;
  fault: "error" | "warning" | "note" | null;
  /** All of it in words. */
  title: string;
}

export const setFacts = StateEffect.define<ReadonlyMap<number, LineFacts>>();

class Heat extends GutterMarker {
  constructor(private readonly facts: LineFacts) {
    super();
  }

  override eq(other: Heat): boolean {
    return this.facts === other.facts;
  }

  override toDOM(): HTMLElement {
    const { global, shared, fault, title } = this.facts;
    const outer = document.createElement("span");
    outer.className = "heat";
    outer.title = title;
    outer.append(bar("global", global), bar("shared", shared));
    if (fault) {
      const mark = document.createElement("b");
      mark.className = fault;
      outer.append(mark);
    }
    return outer;
  }
}

function bar(kind: string, share: number): HTMLElement {
  const outer = document.createElement("i");
  outer.className = kind;
  // A line that has any traffic shows some.
  if (share > 0) outer.style.setProperty("--share", String(Math.max(0.18, share)));
  return outer;
}

const facts = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update(set, transaction) {
    let next = set.map(transaction.changes);
    for (const one of transaction.effects) {
      if (!one.is(setFacts)) continue;
      const text = transaction.state.doc;
      const builder = new RangeSetBuilder<GutterMarker>();
      for (const [number, found] of [...one.value].sort(([a], [b]) => a - b)) {
        if (number > text.lines) continue;
        const from = text.line(number).from;
        builder.add(from, from, new Heat(found));
      }
      next = builder.finish();
    }
    return next;
  },
});

class Switch extends GutterMarker {
  constructor(private readonly on: boolean) {
    super();
  }

  override eq(other: Switch): boolean {
    return this.on === other.on;
  }

  override toDOM(): HTMLElement {
    const outer = document.createElement("span");
    outer.className = this.on ? "barrier" : "barrier off";
    outer.title = this.on ? t.code.barrierOff : t.code.barrierOn;
    return outer;
  }
}

const BARRIER = /^(\s*)(\/\/ )?__sync(?:threads|warp)\s*\(/;

/** Return a text with the barrier of a line taken out or put back, null where it has none. */
export function switched(line: string): string | null {
  const found = BARRIER.exec(line);
  if (!found) return null;
  const space = found[1] ?? "";
  const rest = line.slice(space.length);
  return found[2] ? space + rest.slice(found[2].length) : `${space}// ${rest}`;
}

/** What the gutters call. */
export interface GutterActions {
  /** Go to the next run of a line, or the one before. */
  visit(line: number, backwards: boolean): void;
  /** The text was changed by a switch and should be run. */
  rerun(): void;
  readOnly(): boolean;
}

export function gutters(actions: GutterActions) {
  return [
    facts,
    gutter({ class: "gutter-heat", markers: (view) => view.state.field(facts) }),
    lineNumbers({
      domEventHandlers: {
        mousedown(view, block, event) {
          const line = view.state.doc.lineAt(block.from).number;
          actions.visit(line, (event as MouseEvent).shiftKey);
          event.preventDefault();
          return true;
        },
      },
    }),
    gutter({
      class: "gutter-barrier",
      lineMarker(view, block) {
        const found = BARRIER.exec(view.state.doc.lineAt(block.from).text);
        return found ? new Switch(!found[2]) : null;
      },
      domEventHandlers: {
        mousedown(view, block) {
          return !actions.readOnly() && flip(view, block.from, actions);
        },
      },
    }),
  ];
}

function flip(view: EditorView, at: number, actions: GutterActions): boolean {
  const line = view.state.doc.lineAt(at);
  const changed = switched(line.text);
  if (changed === null) return false;
  view.dispatch({ changes: { from: line.from, to: line.to, insert: changed } });
  actions.rerun();
  return true;
}
