// Numbers as the page writes them.

const whole = new Intl.NumberFormat("en");
/** A whole number. */
export const count = (number: number): string => whole.format(number);
/** A number with its word. */
export const some = (number: number, one: string, many = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : many}`;

/** A number of three digits. */
export const about = (number: number): string =>
  Math.abs(number) >= 1000 ? count(Math.round(number)) : String(Number(number.toPrecision(3)));

/** Bytes. */
export const size = (bytes: number): string =>
  bytes < 1000
    ? `${bytes} B`
    : bytes < 1e6
      ? `${about(bytes / 1e3)} kB`
      : `${about(bytes / 1e6)} MB`;
