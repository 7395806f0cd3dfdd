// Formulas as MathML, from small pieces that read like the formula.
import type { ComponentChildren, JSX } from "preact";

type Piece = ComponentChildren;

/** A variable. */
export const v = (name: string): JSX.Element => <mi>{name}</mi>;
/** A variable after a change. */
export const prime = (name: string): JSX.Element => (
  <msup>
    <mi>{name}</mi>
    <mo>′</mo>
  </msup>
);

export const op = (sign: string): JSX.Element => <mo>{sign}</mo>;
export const row = (...pieces: Piece[]): JSX.Element => <mrow>{pieces}</mrow>;

export const sub = (base: Piece, index: Piece): JSX.Element => (
  <msub>
    <mrow>{base}</mrow>
    <mrow>{index}</mrow>
  </msub>
);

export const sup = (base: Piece, power: Piece): JSX.Element => (
  <msup>
    <mrow>{base}</mrow>
    <mrow>{power}</mrow>
  </msup>
);

export const frac = (above: Piece, below: Piece): JSX.Element => (
  <mfrac>
    <mrow>{above}</mrow>
    <mrow>{below}</mrow>
  </mfrac>
);

export const sum = (under: Piece, over: Piece | null, body: Piece): JSX.Element => (
  <mrow>
    {over === null ? (
      <munder>
        <mo>∑</mo>
        <mrow>{under}</mrow>
      </munder>
    ) : (
      <munderover>
        <mo>∑</mo>
        <mrow>{under}</mrow>
        <mrow>{over}</mrow>
      </munderover>
    )}
    {body}
  </mrow>
);

/** e to the power of something. */
export const e = (power: Piece): JSX.Element => sup(v("e"), power);

/** A sum that is corrected: `now = old · e^(before − after) + added`. */
export const corrected = (now: Piece, old: Piece, before: Piece, after: Piece, added: Piece) =>
  row(now, op("="), old, op("·"), e(row(before, op("−"), after)), op("+"), added);

/** A number of the run, set apart so that it is seen to be one. */
export const live = (value: number | undefined): JSX.Element => (
  <mn class="live">{value === undefined ? "·" : short(value)}</mn>
);

export function Formula({ block = false, children }: { block?: boolean; children: Piece }) {
  return <math display={block ? "block" : "inline"}>{children}</math>;
}

/** A number in three or four digits, with a true minus. */
export function short(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) {
    const [digits = "", power = ""] = value.toExponential(1).split("e");
    return `${digits}e${power.replace("+", "")}`.replaceAll("-", "−");
  }
  return String(Number(value.toPrecision(size >= 1000 ? 5 : 3))).replace("-", "−");
}
