// All that the page remembers, and what it starts with.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type {
  Catalogue,
  CatalogueKernel,
  Diagnostic,
  KernelAsked,
  Mended,
  Refusal,
  Request,
} from "../engine";
import type { Counted, Fault, LinkedKernel, Unit } from "../model";
import { type Span, WHOLE } from "./deck/axis";
import type { Probed } from "./findings/probed";
import type { Seen } from "./seen";
import type { Session } from "./session";

/** A kernel on the page: of the gallery, changed, or the user's own. */
export interface Slot {
  readonly id: number;
  readonly key: string;
  readonly title: string;
  readonly text: string;
  /** As the gallery has it; what "undo changes" goes back to. */
  readonly original: string;
  /** The sequence that it is run in; empty where it is run alone. */
  readonly sequence: string;
}

export interface Launch {
  readonly rows: string;
  readonly vocab: string;
  readonly k: string;
  readonly defines: string;
  readonly grid: string;
  readonly block: string;
  readonly input: string;
  readonly numbers: string;
  readonly schedule: string;
  readonly arguments: string;
}

export interface Refused {
  readonly kind: string;
  readonly message: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** Return what a refusal says. */
export function refusedOf({ kind, message, diagnostics }: Refusal): Refused {
  return { kind, message, diagnostics };
}

export type Theme = "auto" | "light" | "dark";
export type Side = "code" | "lesson";

/** A fault that is pointed at: drawn in the machine, its lines marked. */
export interface Shown {
  readonly slot: number;
  readonly fault: Fault;
}

/** A repair that was made: what it changed, which faults went. */
export interface Repair extends Mended {
  readonly slot: number;
  /** The text before it, null where nothing was changed. */
  readonly before: string | null;
}

/** What was found by other launches. */
export interface Probing {
  readonly slot: number;
  readonly done: number;
  readonly parts: number;
  readonly launches: number;
  /** Launches that met a limit. */
  readonly stopped: number;
  readonly findings: readonly Probed[];
  /** Whether no more will come, all parts done or not. */
  readonly over: boolean;
}

export interface PageState {
  readonly catalogue: Catalogue | null;
  readonly slots: readonly Slot[];
  readonly focus: number;
  readonly launch: Launch;
  /** Beside each slot: what ran, null before the first run or after a refusal. */
  readonly seen: readonly (Seen | null)[];
  readonly running: boolean;
  readonly refused: Refused | null;
  /** Whether what is shown is of the run before: what is asked for now was refused. */
  readonly stale: boolean;
  /** Counts moves of the playheads. */
  readonly moves: number;
  /** Whether the last move was one of a few steps, which is worth to be shown in motion. */
  readonly near: boolean;
  readonly playing: boolean;
  readonly speed: number;
  readonly unit: Unit;
  /** The part of the run that the timeline shows. */
  readonly span: Span;
  /** The lane that was picked: its values are told, and the chart is its own. */
  readonly lane: number | null;
  /** Variables and formulas that the chart shows besides m and d. */
  readonly watched: readonly string[];
  /** Line of the cursor in the editor. */
  readonly cursor: number;
  readonly theme: Theme;
  readonly side: Side;
  readonly counted: Counted;
  readonly shown: Shown | null;
  /** Lines of the kernel in focus that something points at. */
  readonly paired: readonly number[];
  readonly repair: Repair | null;
  readonly probing: Probing | null;
  readonly dialog: "help" | null;
  readonly tour: number | null;
  /** Whether this reader has taken the tour before; who has not is asked to. */
  readonly toured: boolean;
  readonly tables: boolean;
  readonly more: boolean;
  readonly shortcuts: boolean;
  /** A line that was said last, for a moment. */
  readonly said: string;
}

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16] as const;
export const MOST_KERNELS = 3;

/** The first view: three passes, two passes with a race, and one without. */
export const FIRST_KERNELS = [
  "safe_softmax_tiled",
  "online_softmax_tiled_racy",
  "online_softmax_lane",
] as const;

/** Two warps a block, so that the race can show; small enough to see every element. */
export const FIRST_LAUNCH: Launch = {
  rows: "2",
  vocab: "256",
  k: "5",
  defines: "TILE=64",
  grid: "",
  block: "",
  input: "normal",
  numbers: "",
  schedule: "in-order",
  arguments: "",
};

export function initialState(): PageState {
  return {
    catalogue: null,
    slots: [],
    focus: 0,
    launch: FIRST_LAUNCH,
    seen: [],
    running: false,
    refused: null,
    stale: false,
    moves: 0,
    near: false,
    playing: false,
    speed: 1,
    unit: "memory",
    span: WHOLE,
    lane: null,
    watched: [],
    cursor: 1,
    theme: "auto",
    side: "code",
    counted: "issued",
    shown: null,
    paired: [],
    repair: null,
    probing: null,
    dialog: null,
    tour: null,
    toured: false,
    tables: false,
    more: false,
    shortcuts: true,
    said: "",
  };
}

export function slotOf(kernel: CatalogueKernel, id: number): Slot {
  const { key, title, text } = kernel;
  return { id, key, title, text, original: text, sequence: "" };
}

export function edited(slot: Slot): boolean {
  return slot.sequence === "" && slot.text !== slot.original;
}

/** Whether the text of a kernel is why nothing ran. */
export function isBroken({ refused, stale }: PageState, slot: number): boolean {
  return stale && (refused?.diagnostics.some((one) => one.source === slot) ?? false);
}

/** Return NAME=VALUE pairs, separated by spaces or commas. */
export function pairs(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const part of text.split(/[\s,]+(?=\w+\s*=)/)) {
    const [name = "", ...rest] = part.split("=");
    if (name.trim())
      found[name.trim()] =
        rest
          .join("=")
          .trim()
          .replace(/[,\s]+$/, "") || "1";
  }
  return found;
}

/** Return rows of numbers: one row a line; words for those that JSON lacks. */
export function rowsOf(text: string): (number | string)[][] | null {
  const lines = text.split("\n").filter((line) => line.trim());
  if (lines.length === 0) return null;
  return lines.map((line) =>
    line
      .trim()
      .split(/[\s,]+/)
      .map(numberOf),
  );
}

function numberOf(text: string): number | string {
  if (/^[-−]inf(inity)?$/i.test(text)) return "-Infinity";
  if (/^\+?inf(inity)?$/i.test(text)) return "Infinity";
  if (/^nan$/i.test(text)) return "NaN";
  const number = Number(text.replace("−", "-"));
  return Number.isNaN(number) ? text : number; // the server says what is no number
}

/** Return the launch that a kernel of the gallery is known with. */
export function launchOf(kernel: CatalogueKernel): Partial<Launch> {
  const defines = Object.entries(kernel.defines).map(([name, value]) => `${name}=${value}`);
  return {
    rows: String(kernel.rows),
    vocab: String(kernel.vocab),
    k: String(kernel.k),
    defines: defines.join(" "),
    input: kernel.input,
  };
}

/** Return what the server is asked for. */
export function requestOf(slots: readonly Slot[], launch: Launch): Request {
  const numbers = rowsOf(launch.numbers);
  const whole = (text: string): number => Math.max(0, Math.trunc(Number(text)) || 0);
  return {
    kernels: kernelsOf(slots).map(askedFor),
    rows: numbers?.length ?? whole(launch.rows),
    vocab: numbers?.[0]?.length ?? whole(launch.vocab),
    k: whole(launch.k),
    defines: pairs(launch.defines),
    grid: launch.grid.trim() || null,
    block: launch.block.trim() || null,
    shared_bytes: null,
    arguments: pairs(launch.arguments),
    input: launch.input,
    numbers,
    schedule: launch.schedule,
    watch: [],
    record: null,
  };
}

/** Return the kernels that are asked for: those of the gallery by their keys alone. */
export function kernelsOf(slots: readonly Slot[]): LinkedKernel[] {
  return slots.flatMap((slot, index) => {
    const { key, text, sequence } = slot;
    // A sequence is run once, for all of its kernels.
    if (sequence) return slots[index - 1]?.sequence === sequence ? [] : [{ key: sequence }];
    return [edited(slot) || isOwn(key) ? { key, text } : { key }];
  });
}

/** Whether a kernel is one's own: it goes by the name of a file. */
export function isOwn(key: string): boolean {
  return key.endsWith(".cu");
}

/** Return a kernel as the server wants it. */
export function askedFor({ key, text }: LinkedKernel): KernelAsked {
  if (text === undefined) return { key };
  return isOwn(key) ? { name: key, text } : { key, text };
}

export const SessionContext = createContext<Session | null>(null);

/** Return the session that draws this component. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("no session");
  return session;
}
