// The formulas of the lesson: in general, and with the numbers of the run.
import type { JSX } from "preact";
import type { LessonId } from "../../model";
import { corrected, e, frac, live, op, prime, row, sub, sum, v } from "../math";

type Values = Readonly<Record<string, number>>;

interface Pair {
  readonly general: () => JSX.Element;
  /** null where the run has no such numbers. */
  readonly here: (values: Values) => JSX.Element | null;
}

const xi = (): JSX.Element => sub(v("x"), v("i"));
const xj = (): JSX.Element => sub(v("x"), v("j"));
const m = (index: string): JSX.Element => sub(v("m"), v(index));
const d = (index: string): JSX.Element => sub(v("d"), v(index));

/** What m or d was one element ago. */
const before = (name: string): JSX.Element =>
  sub(v(name), row(v("j"), op("−"), <mn>1</mn>));

/** The correction with the numbers of the run. */
const correctedHere = (values: Values, added: number | undefined): JSX.Element =>
  corrected(
    live(values["new_sum"]),
    live(values["old_sum"]),
    live(values["before"]),
    live(values["after"]),
    live(added),
  );

export const FORMULAS: Record<LessonId, Pair> = {
  subtract: {
    general: () =>
      row(
        frac(e(xi()), sum(v("j"), null, e(xj()))),
        op("="),
        frac(e(row(xi(), op("−"), v("m"))), sum(v("j"), null, e(row(xj(), op("−"), v("m"))))),
      ),
    here: (values) =>
      row(
        e(live(100)),
        op("="),
        live(values["beyond"]),
        op(","),
        e(row(live(values["maximum"]), op("−"), live(values["maximum"]))),
        op("="),
        live(values["shifted"]),
      ),
  },
  definition: {
    general: () =>
      row(
        d("j"),
        op("="),
        sum(row(v("i"), op("≤"), v("j")), null, e(row(xi(), op("−"), m("j")))),
        op(","),
        m("j"),
        op("="),
        sub(<mi mathvariant="normal">max</mi>, row(v("i"), op("≤"), v("j"))),
        xi(),
      ),
    here: (values) =>
      values["terms"] === undefined
        ? null
        : row(
            d(String(values["terms"])),
            op("="),
            sum(
              row(v("i"), op("≤"), live(values["terms"])),
              null,
              e(row(xi(), op("−"), live(values["maximum"]))),
            ),
            op("="),
            live(values["sum"]),
          ),
  },
  split: {
    general: () =>
      corrected(d("j"), before("d"), before("m"), m("j"), e(row(xj(), op("−"), m("j")))),
    here: (values) =>
      values["before"] === undefined
        ? null
        : correctedHere(values, values["new_terms"]),
  },
  stays: {
    general: () =>
      row(
        m("j"),
        op("="),
        before("m"),
        op("⟹"),
        e(row(before("m"), op("−"), m("j"))),
        op("="),
        e(<mn>0</mn>),
        op("="),
        <mn>1</mn>,
      ),
    here: (values) =>
      values["maximum"] === undefined
        ? null
        : row(
            e(row(live(values["maximum"]), op("−"), live(values["maximum"]))),
            op("="),
            live(values["factor"]),
          ),
  },
  tiles: {
    general: () =>
      corrected(
        prime("d"),
        v("d"),
        v("m"),
        prime("m"),
        sum(row(v("i"), op("∈"), v("T")), null, e(row(xi(), op("−"), prime("m")))),
      ),
    here: (values) =>
      values["tile"] === undefined
        ? null
        : correctedHere(values, values["tile_sum"]),
  },
  early: {
    general: () =>
      row(
        v("m"),
        op("="),
        <mi mathvariant="normal">max</mi>,
        op("("),
        sub(v("x"), <mn>1</mn>),
        op(","),
        op("…"),
        op(","),
        sub(v("x"), v("V")),
        op(")"),
      ),
    here: (values) =>
      row(
        v("m"),
        op("="),
        sub(v("x"), live(values["column"])),
        op("="),
        live(values["maximum"]),
        op(">"),
        live(values["before"]),
      ),
  },
  fused: {
    general: () => row(sub(v("y"), v("i")), op("="), frac(e(row(xi(), op("−"), m("V"))), d("V"))),
    here: (values) =>
      row(
        frac(
          e(row(live(values["x"]), op("−"), live(values["part_maximum"]))),
          live(values["part_sum"]),
        ),
        op("="),
        live(values["too_early"]),
        op("≠"),
        frac(e(row(live(values["x"]), op("−"), live(values["maximum"]))), live(values["sum"])),
        op("="),
        live(values["right"]),
      ),
  },
};
