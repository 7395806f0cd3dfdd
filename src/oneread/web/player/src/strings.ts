// Every word of the page that is not of a run: another language is another object of this shape.
import { basisText } from "./basis-text";
import { guideText } from "./guide-text";
import { ledgerText } from "./ledger-text";
import { lessonText } from "./lesson-text";
import type { Request, RequestKind, Unit } from "./model";
import { count, size, some } from "./numbers";

interface Placed {
  readonly at: number;
  readonly recording: { readonly length: number };
  readonly step:
    { readonly block: number; readonly warp: number; readonly line: number } | undefined;
}

type Severity = "error" | "warning" | "note";

export const t = {
  skip: "Skip to the machine",
  bar: {
    motto: "watch softmax kernels move data",
    presets: "Kernels on the page",
    several: (kernels: number) => `${kernels} kernels side by side`,
    firstView: "First view: three passes, a race, one read less",
    own: "A kernel of your own",
    add: "Compare",
    run: "Run",
    running: "Running",
    share: "Copy a link to this view",
    export: "Export as one file",
    tour: "Take the tour",
    help: "Keys and how to read this",
    theme: (now: string) => `Theme: ${now === "auto" ? "as the system has it" : now}`,
    recording: "Recording",
    makeLive: "Run it yourself:",
  },
  groups: {
    paper: "The paper's algorithms",
    tiled: "By tiles",
    ours: "Written for speed",
    zoo: "The fault zoo",
    other: "More",
    sequences: "Several launches",
  },
  launch: {
    title: "Launch",
    more: "Options",
    none: "none",
    asKnown: "as known",
    numbersHint: "rows of numbers, -inf among them",
    chipsTitle: "Try",
    fields: {
      rows: "Rows",
      vocab: "Columns",
      k: "k",
      defines: "Macros",
      grid: "Grid",
      block: "Block",
      input: "Input",
      numbers: "Numbers of your own",
      schedule: "Order of warps",
      arguments: "Arguments",
    },
    chips: {
      oneWarp: "one warp",
      twoWarps: "two warps",
      tail: "250 columns",
      masked: "masked first tile",
      reverse: "warps in reverse",
    },
  },
  basis: basisText,
  side: { title: "Code and lesson", code: "Code", lesson: "Lesson" },
  code: {
    editor: "CUDA C of the kernel",
    edited: "edited",
    revert: "Undo changes",
    line: (line: number, column: number) => `Line ${line}:${column}`,
    neverRuns: (line: number) => `Line ${line} is not executed in this run.`,
    barrierOff: "Take this barrier out and run",
    barrierOn: "Put this barrier back and run",
    lineFacts: (bytes: number, requests: number, fault: Severity | null) =>
      [
        bytes ? `${size(bytes)} of global memory in sectors` : "",
        requests ? some(requests, "request") + " of shared memory" : "",
        fault ? `${fault} here` : "",
      ]
        .filter(Boolean)
        .join(", "),
    lanes: (mask: number, lane: number) => {
      let active = 0;
      for (let bit = 0; bit < 32; bit++) active += (mask >>> bit) & 1;
      return `${some(active, "lane")} active; values are those of lane ${lane}`;
    },
    legend: { global: "global bytes", shared: "shared" },
  },
  stale: "earlier run",
  refused: (kind: string, message: string) =>
    ({
      offline: "The server does not answer. Start it again with: oneread web",
      recorded: "This page is a recording. To change and run kernels:",
      busy: "The server has more to do than it can queue. Try again in a moment.",
      deadline: "The run took longer than a page may take. Fewer rows or columns would do.",
    })[kind] ??
    (message || "This cannot be run."),
  bands: {
    hbm: { name: "HBM", about: "global memory, 128 bytes a line" },
    sram: { name: "SRAM", about: "shared memory, 32 banks" },
    register: { name: "Registers", about: "" },
  },
  machine: {
    title: "The machine",
    kernels: "Kernels",
    kernelOf: (slot: number) => `Kernel ${slot + 1}`,
    remove: (key: string) => `Take ${key} off the page`,
    nothing: "Nothing has run yet.",
    pass: (pass: number, all: number) =>
      pass === 0 ? `0 of ${all} passes` : `pass ${pass} of ${all}`,
    bytes: (bytes: number, all: number) => `${size(bytes)} of ${size(all)}`,
    reduced: (blocks: number) => `first ${some(blocks, "block")}`,
    reducedText: "Events of all blocks would be too large. Counts and findings are of all of them.",
    right: "no fault",
    refused: "does not run",
    faults: (severity: string, faults: number) => some(faults, severity),
    severity: { error: "has errors", warning: "has warnings" },
    threads: (block: number, blocks: number, threads: readonly number[]) => {
      const shape = threads.slice(0, threads.findLastIndex((one) => one > 1) + 1).join(" × ");
      return `block ${block} of ${count(blocks)}, ${shape || 1} threads`;
    },
    row: (row: number) => `row ${row}`,
    from: (column: number) => `from ${column}`,
    warp: (warp: number, line: number | undefined, waits: boolean, here: boolean) => {
      const where = line === undefined ? "has not begun" : `line ${line}`;
      return `warp ${warp} · ${where}${waits ? " · waits" : here ? " · runs" : ""}`;
    },
    barrier: (line: number, here: number, all: number) =>
      `barrier, line ${line}: ${here} of ${all} warps`,
    request: (one: Request, requests: number) => {
      const more = requests > 1 ? ` · ${requests} requests` : "";
      const lanes = some(one.laneCount, "lane");
      if (one.strays.length > 0) return `${lanes} · ${one.strays.length} of another row${more}`;
      if (one.buffer.space === "shared") {
        return one.wavefronts > one.idealWavefronts
          ? `${lanes} · ${one.wavefronts} wavefronts, ${one.idealWavefronts} would do${more}`
          : `${lanes} · ${some(one.wavefronts, "wavefront")}${more}`;
      }
      return `${lanes} · ${some(one.sectors.length, "sector")} · ${one.bytes} B${more}`;
    },
  },
  tip: {
    unset: "not set",
    cell: (name: string, index: number, value: string) => `${name}[${index}] = ${value}`,
    register: (name: string, warp: number, lane: number, value: string) =>
      `${name} = ${value}\nwarp ${warp}, lane ${lane}`,
    touched: (reads: number, writes: number) =>
      `read ${some(reads, "time")}, written ${some(writes, "time")}`,
    bank: (bank: number) => `bank ${bank}`,
    stored: (line: number) => `stored in line ${line}; click to go there`,
  },
  chart: {
    title: "m and d",
    picture: "Running maximum and normalizer over the steps of this block",
    thread: ({ block, warp, lane }: { block: number; warp: number; lane: number }) =>
      `block ${block}, warp ${warp}, lane ${lane}`,
    none: "This kernel keeps no running maximum.",
    noBeads: "m is found before d is summed, so nothing has to be corrected: a pass for each.",
    newTerms: "new terms",
    watch: "Also watch",
    variable: "a variable",
    formula: "A formula over variables, watched on Enter",
    absent: "not in this kernel",
    unwatch: (text: string) => `Stop watching ${text}`,
    noFormula: (text: string) => `${text} is no formula over this kernel's variables.`,
    bead: (factor: string) => `× ${factor}: go to this correction`,
    beforeBeads: (beads: number) =>
      `${some(beads, "correction")} to come: whenever m rises, what was summed is multiplied once.`,
  },
  ledger: ledgerText,
  findings: {
    title: "Findings",
    clean: (schedule: string, judged: boolean) =>
      judged
        ? `Nothing wrong in this launch, warps ${schedule}.`
        : `No fault in this launch, warps ${schedule}. What the result should be is not known here, so its values were not judged.`,
    none: "This run shows no fault.",
    notes: (notes: number) => some(notes, "note"),
    lines: (lines: readonly number[]) =>
      lines.length > 1 ? `lines ${lines.join(" and ")}` : `line ${lines[0]}`,
    times: (times: number) => `${count(times)} times`,
    show: "Show me",
    order: (next: string) => `Try order: ${next}`,
    orderTitle: "Try another order of warps",
    fix: "Apply fix",
    probe: "Try other launches",
    probing: (launches: number) => `Trying other launches: ${count(launches)} so far`,
    probed: (launches: number, found: number) =>
      found === 0
        ? `${some(launches, "launch", "launches")}, no other fault`
        : `${some(found, "distinct fault")} in ${some(launches, "launch", "launches")}`,
    brokenOff: (launches: number, found: number) =>
      `Broken off after ${some(launches, "launch", "launches")}: ` +
      (found === 0 ? "no other fault" : some(found, "distinct fault")),
    stopped: (launches: number) =>
      `${some(launches, "launch", "launches")} met a limit. What would show there is not known.`,
    hidden: "not in this launch",
    launch: "Launch it like this",
    stale: "The text as it stands was not run: these are the findings of the run before.",
    repaired: "Mended, and run again",
    unchanged: "Nothing was changed",
    undo: "Undo the fix",
    hunk: (line: string) => `line ${/\+(\d+)/.exec(line)?.[1] ?? ""}`,
    mends: (names: string) => `Gone with it: ${names}.`,
    remains: (names: string) => `Still there: ${names}.`,
    remainsNothing: "No fault is left in this launch.",
    rulesOut: (names: string, why: string) =>
      `The repair for ${names} rules this launch out: ${why}.`,
  },
  deck: {
    title: "Playhead",
    transport: "Transport",
    timeline: "Timeline",
    first: "To the first access",
    back: "Back",
    play: "Play",
    pause: "Pause",
    forward: "Forward",
    last: "To the end",
    unit: "Step by",
    speed: "Speed",
    before: "Before the first step.",
    goTo: "Go to step",
    position: ({ at, recording, step }: Placed) =>
      step
        ? `step ${count(at + 1)} of ${count(recording.length)} · block ${step.block} · warp ${step.warp} · line ${step.line}`
        : `${count(recording.length)} steps`,
    overview: "The whole run: drag over a part to look at it, twice click for all of it",
    zoom: "Zoom of the timeline",
    zoomIn: "Zoom in",
    zoomOut: "Zoom out",
    zoomAll: "Whole timeline",
    tileOf: (tile: number) => `tile ${tile + 1}`,
    passOf: (pass: number) => `pass ${pass}`,
    lane: (lane: number) => `Values are those of lane ${lane}.`,
    follows: (warp: number | undefined) =>
      warp === undefined ? "Steps of all warps." : `Steps of warp ${warp} alone.`,
  },
  units: {
    statement: "statement",
    memory: "memory operation",
    tile: "tile",
    barrier: "barrier",
    pass: "pass",
  } satisfies Record<Unit, string>,
  tables: {
    show: "Show as tables",
    hide: "Hide the tables",
    title: "The machine as tables",
    of: (name: string) => `${name}, at the playhead`,
    cells: (first: number, shown: number, all: number) =>
      shown === all ? some(all, "cell") : `cells ${first} to ${first + shown - 1} of ${count(all)}`,
    chart: "Values of m and d",
    step: "step",
    changes: (changes: number, most: number) =>
      changes > most
        ? `the last ${most} of ${count(changes)} changes up to the playhead`
        : `${some(changes, "change")} up to the playhead`,
    index: "from",
    lane: "lane",
    warp: (warp: number, block: number) => `Variables of warp ${warp} in block ${block}`,
    kinds: { load: "read now", store: "written now", atomic: "updated now" } satisfies Record<
      RequestKind,
      string
    >,
  },
  lesson: lessonText,
  ...guideText,
  said: {
    copied: "The link is in the clipboard.",
    inAddress: "The link is in the address bar.",
    exported: "Saved as one file that needs no server.",
    overtaken: "Broken off: the page has asked for something newer.",
  },
};
