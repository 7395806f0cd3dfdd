// Where runs come from: the server that sent this page, or the recording inside it.
import type { Trace } from "./schema";

export type Severity = "error" | "warning" | "note";

/** What the page was given by the document that it is in. */
export type Start =
  { mode: "live" } | { mode: "recorded"; trace: Trace; catalogue: Catalogue; command: string };

export interface Measured {
  device: string;
  date: string;
  shape: string;
  rows: number;
  vocab: number;
  us: number;
  gb_per_s: number;
}

export interface CatalogueKernel {
  key: string;
  title: string;
  text: string;
  group: "paper" | "tiled" | "ours" | "zoo" | "other";
  /** The kernel without the fault of this one. */
  fault_of: string | null;
  defines: Record<string, string | number>;
  rows: number;
  vocab: number;
  k: number;
  block: string;
  input: string;
  measured: Measured[];
}

export interface Catalogue {
  version: string;
  kernels: CatalogueKernel[];
  sequences: { key: string; title: string; kernels: string[] }[];
  messages: Record<string, { title: string; text: string; severity: Severity }>;
  inputs: string[];
  schedules: string[];
  limits: Record<string, number>;
}

/** A kernel of the gallery, the same with another text, or a text of one's own. */
export type KernelAsked = { key: string; text?: string } | { name: string; text: string };

export interface Request {
  kernels: KernelAsked[];
  rows: number;
  vocab: number;
  k: number;
  defines: Record<string, string>;
  grid: string | null;
  block: string | null;
  shared_bytes: string | null;
  arguments: Record<string, string>;
  input: string;
  numbers: (number | string)[][] | null;
  schedule: string;
  watch: string[];
  record: number[] | null;
}

export interface Diagnostic {
  line: number;
  column: number;
  end_column: number | null;
  severity: Severity;
  message: string;
  hint: string | null;
  /** Which kernel of the request. */
  source: number;
}

export interface Mended {
  text: string;
  diff: string;
  mended: Trace["runs"][number]["faults"];
  remaining: Trace["runs"][number]["faults"];
  /** Repairs that were not made: they rule this launch out, and why. */
  exclusions: { fault: Trace["runs"][number]["faults"][number]; diff: string; why: string }[];
}

export interface Probed {
  part: number;
  parts: number;
  launches: number;
  /** Launches that met a limit, so that nobody knows what they would show. */
  stopped: number;
  findings: {
    fault: Trace["runs"][number]["faults"][number];
    launch: Record<string, unknown>;
    command: string;
  }[];
}

/** Why there is no run: of the source, of what was asked, of a limit, or of the connection. */
export class Refusal extends Error {
  constructor(
    readonly kind: string,
    message: string,
    readonly diagnostics: Diagnostic[] = [],
  ) {
    super(message);
    this.name = "Refusal";
  }
}

export interface Engine {
  /** Whether a changed kernel can be run. */
  readonly live: boolean;
  /** The command that makes a recording live; empty where it is. */
  readonly command: string;
  catalogue(): Promise<Catalogue>;
  trace(request: Request): Promise<Trace>;
  fix(request: Request): Promise<Mended>;
  probe(request: Request, part: number): Promise<Probed>;
  exported(request: Request): Promise<Blob>;
}

/** Return the engine of this document. */
export function engineOf(start: Start): Engine {
  return start.mode === "live" ? new Live() : new Recorded(start);
}

/** Read what the document brings along. */
export function readStart(): Start {
  const text = document.getElementById("oneread-start")?.textContent;
  if (!text) throw new Error("the document has no element oneread-start");
  return JSON.parse(text) as Start;
}

class Live implements Engine {
  readonly live = true;
  readonly command = "";
  /** Names this tab, so that a newer run of it can end an older one. */
  readonly #page = [...crypto.getRandomValues(new Uint32Array(3))]
    .map((one) => one.toString(36))
    .join("");

  async catalogue(): Promise<Catalogue> {
    return (await (await this.#ask("api/catalogue", { method: "GET" })).json()) as Catalogue;
  }

  async trace(request: Request): Promise<Trace> {
    return (await (await this.#post("api/trace", request)).json()) as Trace;
  }

  async fix(request: Request): Promise<Mended> {
    return (await (await this.#post("api/fix", request)).json()) as Mended;
  }

  async probe(request: Request, part: number): Promise<Probed> {
    return (await (await this.#post("api/probe", { ...request, part })).json()) as Probed;
  }

  async exported(request: Request): Promise<Blob> {
    return (await this.#post("api/export", request)).blob();
  }

  #post(path: string, body: object): Promise<Response> {
    return this.#ask(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Oneread-Page": this.#page },
      body: JSON.stringify(body),
    });
  }

  async #ask(path: string, init: RequestInit): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(path, { ...init, cache: "no-store", credentials: "same-origin" });
    } catch {
      throw new Refusal("offline", "");
    }
    if (answer.ok) return answer;
    throw await refusal(answer);
  }
}

async function refusal(answer: Response): Promise<Refusal> {
  const kind = answer.status === 429 ? "busy" : answer.status === 504 ? "deadline" : "server";
  try {
    const { error } = (await answer.json()) as {
      error: { kind?: string; message?: string; diagnostics?: Diagnostic[] };
    };
    return new Refusal(error.kind ?? kind, error.message ?? "", error.diagnostics ?? []);
  } catch {
    return new Refusal(kind, `${answer.status} ${answer.statusText}`);
  }
}

class Recorded implements Engine {
  readonly live = false;
  readonly command: string;
  readonly #start: Extract<Start, { mode: "recorded" }>;

  constructor(start: Extract<Start, { mode: "recorded" }>) {
    this.#start = start;
    this.command = start.command;
  }

  catalogue(): Promise<Catalogue> {
    return Promise.resolve(this.#start.catalogue);
  }

  trace(): Promise<Trace> {
    return Promise.resolve(this.#start.trace);
  }

  fix(): Promise<Mended> {
    return Promise.reject(new Refusal("recorded", this.command));
  }

  probe(): Promise<Probed> {
    return Promise.reject(new Refusal("recorded", this.command));
  }

  exported(): Promise<Blob> {
    return Promise.reject(new Refusal("recorded", this.command));
  }
}
