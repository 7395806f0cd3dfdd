/** Records of a trace file. Made from `trace.schema.json` by `tools/player_types.py`; not edited. */

/** A number, or the word for one that JSON lacks. */
export type Num = number | "NaN" | "Infinity" | "-Infinity";

/**
 * error: undefined behaviour or a wrong result in this launch; warning: a hazard that this launch
 * hides; note: cost, or a fault of other launches.
 */
export type Severity = "error" | "warning" | "note";

/** One launch of one kernel. */
export interface Run {
  /** What it was asked for by: a key of the gallery, or a file. */
  name: string;
  kernel: string;
  source: {
    name: string;
    text: string;
  };
  launch: Launch;
  /** Limits that the run was held to. */
  settings: Record<string, number>;
  buffers: Buffer[];
  counts: Counts;
  /** The worst first. Texts are in the package's catalogue, by id. */
  faults: Fault[];
  /** Outputs whose meaning is known, against float64. */
  result: Judgement[];
  watches: Watch[];
  /** null where no events were kept. */
  recording: Recording | null;
  /** Vectors of numbers, each once, in base64, little-endian. */
  pools: {
    /** float32. */
    floats: string;
    /** Signed 64-bit integers. Unsigned ones that do not fit are wrapped. */
    integers: string;
  };
}

export interface Launch {
  grid: number[];
  block: number[];
  rows: number;
  vocab: number;
  k: number;
  defines: Record<string, string>;
  /** Pattern of the inputs. */
  input: string;
  schedule: string;
  arguments: {
    name: string;
    role: "scalar" | "input" | "output" | "inout";
    /** The number itself, or how many elements. */
    size: Num;
    pattern: string | null;
    /** The expression of the size. */
    shape: string;
  }[];
  basis: Basis;
}

/** What of a launch nobody said: what was read in the source, and what was guessed. */
export interface Basis {
  /** Of the launch in the source that was read; null where there is none. */
  line: number | null;
  /** How many launches of the kernel the source has. The first one is read. */
  launches: number;
  items: {
    /** `grid`, `block`, `shared bytes`, or a parameter. */
    name: string;
    /** A number, or of a guess the expression of one. */
    value: string;
    /**
     * read: in the launch; named: by `__launch_bounds__` or by a macro or constant of a usual name.
     */
    origin: "read" | "named" | "guessed";
    /** What names it; or what the launch has instead of a guess, as it is written. */
    source: string;
    /** Of a parameter. */
    role: "" | "scalar" | "input" | "output" | "inout";
  }[];
}

/** A buffer in global memory, or an array of a block (shared) or of threads (local). */
export interface Buffer {
  name: string;
  space: "global" | "shared" | "local";
  /** Those of a local array are of all lanes together. */
  elements: number;
  /** Of the cells of an element: letters of Python's module struct. */
  types: ("?" | "b" | "B" | "h" | "H" | "i" | "I" | "q" | "Q" | "f" | "d")[];
  /** Cells of a row; 0 where the buffer has no rows. */
  row_cells: number;
  role: "" | "input" | "output" | "inout";
  /** What all cells held at first; null where they were unset. */
  before: Vector | null;
  /** What all cells of an output held at the end. */
  after: Vector | null;
}

/** Numbers of a pool. */
export interface Vector {
  at: number;
  pool: Pool;
  count: number;
}

/**
 * 0: integers; 1: floats; 2: integers, where those of cells and variables with a fraction are bit
 * patterns of float64.
 */
export type Pool = 0 | 1 | 2;

/** How often the elements of a buffer were touched. */
export interface Spread {
  min: number;
  max: number;
  mean: number;
}

/** Of all blocks, whichever were recorded. */
export interface Counts {
  /** Statements that warps executed. */
  steps: number;
  /** Barriers that blocks passed. */
  barriers: number;
  /** Exponentials of warps. */
  exps: number;
  /** Exponentials of lanes. */
  lane_exps: number;
  shared_requests: number;
  /** Of shared memory; beyond the requests they are bank conflicts. */
  wavefronts: number;
  global_requests: number;
  /** Of 32 bytes. */
  sectors: number;
  ideal_sectors: number;
  /** Bytes of global memory that the source asks for. */
  issued_bytes: number;
  /** The same without loads that a lane repeats while a compiler may keep the value. */
  after_reuse_bytes: number;
  /** Bytes between DRAM and one cache, least recently used sectors out first: a model. */
  dram_model: {
    read_bytes: number;
    written_bytes: number;
    resident_blocks: number;
    /** In units of 1024 bytes. */
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
    issued_bytes: number;
    after_reuse_bytes: number;
    /** Of the model, for sectors that this place asked for or stored to last. */
    dram_bytes: number;
  }[];
  passes: {
    buffer: string;
    line: number;
    first_step: number;
    last_step: number;
    elements: number;
    issued_bytes: number;
    after_reuse_bytes: number;
    /** Of the model, for sectors that this place asked for or stored to last. */
    dram_bytes: number;
  }[];
  /** How often blocks passed the barrier of each line. */
  barrier_lines: Record<string, number>;
}

/** One kind of fault at one place. */
export interface Fault {
  id: string;
  severity: Severity;
  line: number;
  column: number;
  step: number;
  block: number;
  warp: number;
  /** Mask of the lanes, the first time. */
  lanes: number;
  /** The other line, where two are concerned. */
  with_line: number | null;
  buffer: string | null;
  index: number | null;
  /** What the text names besides. */
  parameters: Record<string, unknown>;
  repair: {
    kind: "insert-after" | "insert" | "replace";
    line: number;
    column: number;
    parameters: Record<string, string>;
  } | null;
  /** How often it happened. */
  count: number;
}

export interface Judgement {
  buffer: string;
  /** What it was taken for. */
  op: string;
  /** Largest difference of finite elements. */
  max_abs: Num;
  wrong: number;
  count: number;
  nans: number;
  first_wrong: number | null;
  got: Num | null;
  want: Num | null;
  /** Of the wrong ones, those that are NaN. */
  wrong_nans: number;
}

/** A running value, and all that it was, in columns. */
export interface Watch {
  label: "m" | "d" | "factor" | "user";
  name: string;
  line: number;
  /** When. */
  step: number[];
  /** Of which block. */
  block: number[];
  /** Of which warp. */
  warp: number[];
  /** Of which lane: the first that took part. */
  lane: number[];
  /** What. */
  value: Num[];
}

/** Steps and events of some blocks, in columns. */
export interface Recording {
  /** Blocks whose events are here. */
  blocks: number[];
  /**
   * The limit for which only the first blocks were kept, null where all that were asked for are
   * here.
   */
  reduced: {
    setting: "recorded" | "file_bytes";
  } | null;
  /** What an event can be. */
  operations: string[];
  /** What events are about. */
  names: {
    name: string;
    /** Empty for barriers, shuffles and branches. */
    space: "" | "global" | "shared" | "local" | "register";
    /** Of a variable in registers. A value of a bool is a mask of lanes. */
    type: string;
  }[];
  /** A step is a statement that a warp executed. */
  steps: {
    /** Its number among those of all blocks. */
    step: number[];
    /** Block. */
    block: number[];
    /** Warp of the block. */
    warp: number[];
    /** Line. */
    line: number[];
    /** Column. */
    column: number[];
    /** Active lanes. */
    mask: number[];
    /** Events up to here belong to it or to a step before. */
    end: number[];
  };
  /** In the order in which they happened. */
  events: {
    /** Index into operations. */
    operation: number[];
    /** Index into names. */
    name: number[];
    /**
     * First cell; where stride is null, the place of the cells in the pool of integers. 0 for
     * registers. For a shuffle, the place there of the lane that each lane takes its value from.
     */
    at: number[];
    /** From cell to cell. */
    stride: (number | null)[];
    /**
     * Cells; for a register 32 lanes, or 1 for a value that all lanes share; for a shuffle 32
     * lanes. An atomic may name a cell several times, in the order of the lanes.
     */
    count: number[];
    /** Place of what the cells hold after it, or of what a shuffle gives each lane; -1 for none. */
    value: number[];
    /**
     * Place of what they held before it, for a step back, or of what each lane gave to a shuffle;
     * -1 for none.
     */
    old: number[];
    /** In which pool value and old are. */
    pool: Pool[];
  };
  /**
   * Accesses in which fewer lanes took part than in their step: a condition within the statement
   * left the others out.
   */
  partial: {
    /** Which event. */
    event: number[];
    /** Mask of its lanes. */
    lanes: number[];
  };
}

/**
 * What `oneread trace` writes: launches of CUDA C kernels that a CPU executed, with every access
 * counted, and the events of chosen blocks. The same launch gives the same bytes. Additions that
 * old readers may leave unread do not change the version.
 */
export interface Trace {
  schema: "oneread-trace/1";
  /** Version of oneread that made it. */
  engine: string;
  /** Launches in order. Those of a sequence follow one another and share buffers. */
  runs: Run[];
}
