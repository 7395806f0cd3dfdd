/**
 * Arithmetic over variables, such as `m + logf(d)`: what a person may watch besides the variables
 * themselves. The same language as that of `--watch`, computed in double like there; here it reads
 * a recording, so that it needs no run and every lane has its own values.
 */

/** Longest formula, in characters, and deepest nesting. */
const LONGEST = 200;
const DEEPEST = 30;

type Lookup = (name: string) => number;
type Part = (names: Lookup) => number;

export interface Formula {
  readonly text: string;
  /** Variables in it, each once. */
  readonly names: readonly string[];
  value(names: Lookup): number;
}

// A number beats NaN, as in CUDA.
const larger = (a: number, b: number): number => (a > b || Number.isNaN(b) ? a : b);
const smaller = (a: number, b: number): number => (a < b || Number.isNaN(b) ? a : b);

const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  exp: (value) => Math.exp(value!),
  expf: (value) => Math.exp(value!),
  log: (value) => Math.log(value!),
  logf: (value) => Math.log(value!),
  fabsf: (value) => Math.abs(value!),
  fmaxf: (a, b) => larger(a!, b!),
  max: (a, b) => larger(a!, b!),
  fminf: (a, b) => smaller(a!, b!),
  min: (a, b) => smaller(a!, b!),
};
const PAIRS = new Set(["fmaxf", "max", "fminf", "min"]);

const TOKEN = /\s*(?:(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)f?|([a-z_]\w*(?:\.\w+)*)|(.))/iy;

/** Read a formula; null where the text is none. */
export function formulaOf(text: string): Formula | null {
  const tokens = text.length > LONGEST ? null : tokensOf(text);
  if (tokens === null || tokens.length === 0) return null;
  const reader = new Reader(tokens);
  const whole = reader.sum(0);
  if (whole === null || !reader.ended) return null;
  return { text: text.trim(), names: [...reader.names], value: whole };
}

function tokensOf(text: string): string[] {
  const found: string[] = [];
  TOKEN.lastIndex = 0;
  for (const trimmed = text.trimEnd(); TOKEN.lastIndex < trimmed.length; ) {
    const [, number, name, sign] = TOKEN.exec(trimmed)!;
    found.push(number ?? name ?? sign!);
  }
  return found;
}

class Reader {
  readonly names = new Set<string>();
  #at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  get ended(): boolean {
    return this.#at === this.tokens.length;
  }

  sum(depth: number): Part | null {
    return this.#chain(() => this.#product(depth), {
      "+": (a, b) => a + b,
      "-": (a, b) => a - b,
    });
  }

  #product(depth: number): Part | null {
    return this.#chain(() => this.#signed(depth), {
      "*": (a, b) => a * b,
      "/": (a, b) => a / b,
    });
  }

  #chain(
    next: () => Part | null, operators: Record<string, (a: number, b: number) => number>,
  ): Part | null {
    let left = next();
    for (;;) {
      const apply = operators[this.tokens[this.#at] ?? ""];
      if (left === null || apply === undefined) return left;
      this.#at++;
      const [a, b] = [left, next()];
      left = b === null ? null : (names) => apply(a(names), b(names));
    }
  }

  #signed(depth: number): Part | null {
    if (depth > DEEPEST) return null;
    const token = this.tokens[this.#at++];
    if (token === "-" || token === "+") {
      const inner = this.#signed(depth + 1);
      return inner && token === "-" ? (names) => -inner(names) : inner;
    }
    if (token === "(") return this.#closed(this.sum(depth + 1));
    if (token === undefined) return null;
    if (/^[\d.]/.test(token)) {
      const value = Number(token);
      return Number.isNaN(value) ? null : () => value;
    }
    if (!/^[a-z_]/i.test(token)) return null;
    if (this.tokens[this.#at] === "(") return this.#call(token, depth);
    this.names.add(token);
    return (names) => names(token);
  }

  #call(name: string, depth: number): Part | null {
    const apply = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
    this.#at++;
    const first = this.sum(depth + 1);
    if (apply === undefined || first === null) return null;
    if (!PAIRS.has(name)) return this.#closed((names) => apply(first(names)));
    if (this.tokens[this.#at++] !== ",") return null;
    const second = this.sum(depth + 1);
    if (second === null) return null;
    return this.#closed((names) => apply(first(names), second(names)));
  }

  #closed(inner: Part | null): Part | null {
    return this.tokens[this.#at++] === ")" ? inner : null;
  }
}
