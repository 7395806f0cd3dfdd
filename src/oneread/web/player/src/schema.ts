/** Records of a trace file. Made from `trace.schema.json` by `tools/player_types.py`; not edited. */

export type Num = number | "NaN" | "Infinity" | "-Infinity";

export type Severity = "error" | "warning" | "note";

export interface Run {
  name: string;
  kernel: string;
  source: { name: string; text: string };
  launch: Launch;
  settings: Record<string, number>;
  buffers: Buffer[];
  counts: Counts;
  faults: Fault[];
  result: Judgement[];
  watches: Watch[];
  recording: Recording | null;
  pools: { floats: string; integers: string };
}

export interface Launch {
  grid: number[];
  block: number[];
  rows: number;
  vocab: number;
  k: number;
  defines: Record<string, string>;
  input: string;
  schedule: string;
  arguments: {
    name: string;
    role: "scalar" | "input" | "output" | "inout";
    size: Num;
    pattern: string | null;
    shape: string;
  }[];
}

export interface Buffer {
  name: string;
  space: "global" | "shared" | "local";
  elements: number;
  types: ("?" | "b" | "B" | "h" | "H" | "i" | "I" | "q" | "Q" | "f" | "d")[];
  row_cells: number;
  role: "" | "input" | "output" | "inout";
  before: Vector | null;
  after: Vector | null;
}

export interface Vector {
  at: number;
  pool: Pool;
  count: number;
}

export type Pool = 0 | 1 | 2;

export interface Spread {
  min: number;
  max: number;
  mean: number;
}

export interface Counts {
  steps: number;
  barriers: number;
  exps: number;
  lane_exps: number;
  shared_requests: number;
  wavefronts: number;
  global_requests: number;
  sectors: number;
  ideal_sectors: number;
  issued_bytes: number;
  after_reuse_bytes: number;
  dram_model: {
    read_bytes: number;
    written_bytes: number;
    resident_blocks: number;
    cache_kb: number;
  };
  buffers: {
    name: string;
    elements: number;
    loads: Spread;
    stores: Spread;
    reused: number;
    issued_bytes: number;
    after_reuse_bytes: number;
  }[];
  lines: {
    line: number;
    column: number;
    buffer: string;
    space: "global" | "shared";
    kind: "read" | "write" | "atomic";
    requests: number;
    elements: number;
    sectors: number;
    ideal_sectors: number;
    wavefronts: number;
    ideal_wavefronts: number;
  }[];
  passes: {
    buffer: string;
    line: number;
    first_step: number;
    last_step: number;
    elements: number;
  }[];
  barrier_lines: Record<string, number>;
}

export interface Fault {
  id: string;
  severity: Severity;
  line: number;
  column: number;
  step: number;
  block: number;
  warp: number;
  lanes: number;
  with_line: number | null;
  buffer: string | null;
  index: number | null;
  parameters: Record<string, unknown>;
  repair: {
    kind: "insert-after" | "insert" | "replace";
    line: number;
    column: number;
    parameters: Record<string, string>;
  } | null;
  count: number;
}

export interface Judgement {
  buffer: string;
  op: string;
  max_abs: Num;
  wrong: number;
  count: number;
  nans: number;
  first_wrong: number | null;
  got: Num | null;
  want: Num | null;
}

export interface Watch {
  label: "m" | "d" | "factor" | "user";
  name: string;
  line: number;
  step: number[];
  block: number[];
  warp: number[];
  lane: number[];
  value: Num[];
}

export interface Recording {
  blocks: number[];
  reduced: { setting: "recorded" | "file_bytes" } | null;
  operations: string[];
  names: {
    name: string;
    space: "" | "global" | "shared" | "local" | "register";
    type: string;
  }[];
  steps: {
    step: number[];
    block: number[];
    warp: number[];
    line: number[];
    column: number[];
    mask: number[];
    end: number[];
  };
  events: {
    operation: number[];
    name: number[];
    at: number[];
    stride: (number | null)[];
    count: number[];
    value: number[];
    old: number[];
    pool: Pool[];
  };
}

export interface Trace {
  schema: "oneread-trace/1";
  engine: string;
  runs: Run[];
}
