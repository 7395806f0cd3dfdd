// What a run says beside the text: the line that runs, with its lanes and values; faults and
// refusals at their places. All of it moves with the text while it is edited.
import { type Range, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** The statement that the playhead stands on. */
export interface Running {
  line: number;
  /** Bits of the lanes that take part. */
  mask: number;
  /** Lanes that a warp of this launch has. */
  lanes: number;
  /** Values of the line's variables, for the lane that was picked. */
  values: string;
  title: string;
}

/** A remark under a line. */
export interface Remark {
  line: number;
  /** First column and the one behind the last, from 1; 0 for the whole line. */
  column: number;
  end: number;
  severity: "error" | "warning" | "note";
  text: string;
}

export const setRemarks = StateEffect.define<readonly Remark[]>();
export const setPaired = StateEffect.define<readonly number[]>();

/** What stands at the end of the line that runs: values of its variables, and its lanes. */
export class Badge {
  readonly element = document.createElement("div");
  readonly #values = document.createTextNode("");
  readonly #strip = document.createElement("span");
  readonly #boxes = Array.from({ length: 32 }, () => document.createElement("i"));
  #mask = 0;

  constructor() {
    this.element.className = "running-end";
    this.element.setAttribute("aria-hidden", "true");
    this.#strip.className = "running-lanes";
    this.#strip.append(...this.#boxes);
    const values = document.createElement("span");
    values.append(this.#values);
    this.element.append(values, this.#strip);
  }

  /** Say what runs; of the boxes only those are touched that change. */
  tell({ mask, lanes, values, title }: Running): void {
    if (this.#values.data !== values) this.#values.data = values;
    if (this.#strip.title !== title) this.#strip.title = title;
    this.#boxes.forEach((box, lane) => {
      const on = (mask >>> lane) & 1;
      if (on !== ((this.#mask >>> lane) & 1)) box.className = on ? "on" : "";
      if (box.hidden !== lane >= lanes) box.hidden = lane >= lanes;
    });
    this.#mask = mask;
  }
}

class Note extends WidgetType {
  constructor(private readonly remark: Remark) {
    super();
  }

  override eq(other: Note): boolean {
    return this.remark.text === other.remark.text && this.remark.severity === other.remark.severity;
  }

  override toDOM(): HTMLElement {
    const outer = document.createElement("div");
    outer.className = `remark ${this.remark.severity}`;
    outer.textContent = this.remark.text;
    return outer;
  }
}

const pairedLine = Decoration.line({ class: "paired" });

export const paired = field(setPaired, (lines, text) =>
  [...new Set(lines)]
    .filter((line) => line >= 1 && line <= text.lines)
    .map((line) => pairedLine.range(text.line(line).from)),
);

export const remarks = field(setRemarks, (all, text) =>
  all.flatMap((one) => {
    const line = text.line(Math.max(1, Math.min(text.lines, one.line)));
    const from = Math.min(line.to, line.from + Math.max(0, one.column - 1));
    const to = Math.min(line.to, one.end > one.column ? line.from + one.end - 1 : line.to);
    const marks: Range<Decoration>[] = [
      Decoration.widget({ widget: new Note(one), side: 2, block: true }).range(line.to),
    ];
    if (one.column > 0 && to > from) {
      marks.push(Decoration.mark({ class: `underlined ${one.severity}` }).range(from, to));
    }
    return marks;
  }),
);

function field<Value>(
  effect: ReturnType<typeof StateEffect.define<Value>>,
  make: (value: Value, text: Text) => Range<Decoration>[],
): StateField<DecorationSet> {
  return StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update(set, transaction) {
      let next = set.map(transaction.changes);
      for (const one of transaction.effects) {
        if (one.is(effect)) next = Decoration.set(make(one.value, transaction.state.doc), true);
      }
      return next;
    },
    provide: (self) => EditorView.decorations.from(self),
  });
}
