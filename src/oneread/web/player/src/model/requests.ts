/** What the loads, stores and atomics of a step ask of memory: cells, lanes, sectors, banks. */

import { byteOf, cellBytes, ownsRow } from "./buffers";
import { WARP, lanesOf } from "./numbers";
import { passNumbers } from "./passes";
import type { Recording } from "./recording";
import { type Sharing, sharingOf } from "./sharing";
import type { Buffer, Request, RequestKind, Value, WarpId } from "./types";

const SECTOR = 32;
const BANKS = 32;
const BANK_BYTES = 4;

/** Return what a step asks of memory, in order. */
export function requests(recording: Recording, step: number): Request[] {
  const [from, to] = recording.eventsOf(step);
  const found: Request[] = [];
  for (let event = from; event < to; event++) {
    const operation = recording.operation(event);
    if (operation === "load" || operation === "store" || operation === "atomic") {
      found.push(requestOf(recording, step, event, operation));
    }
  }
  return found;
}

function requestOf(
  recording: Recording, step: number, event: number, kind: RequestKind,
): Request {
  const { block, warp, line, number } = recording.step(step);
  const buffer = recording.bufferOf(event);
  const cells = recording.cellsOf(event);
  const sharing = sharingOf(recording, event);
  const sectors = buffer.space === "global" ? sectorsOf(buffer, cells) : [];
  const banks = buffer.space === "shared" ? banksOf(buffer, cells, sharing) : NO_BANKS;
  return {
    step, block, warp, line, kind, buffer, cells,
    values: valuesOf(recording, event, buffer, cells),
    old: kind === "load" ? [] : oldOf(recording, event, buffer, cells, { block, warp }),
    laneCount: sharing.laneCount,
    lanes: sharing.lanes,
    laneOf: laneOf(cells, sharing),
    together: sharing.together,
    bytes: sharing.bytes,
    sectors,
    idealSectors: buffer.space === "global" ? idealSectors(cells, sharing) : 0,
    ...banks,
    strays: straysOf(recording, block, buffer, cells),
    pass: recording.once(passNumbers).ofEvent[event]!,
    faults: recording.run.faults.filter(
      (one) => one.lanes !== 0 && one.step === number && one.buffer === buffer.name,
    ),
  };
}

function valuesOf(
  recording: Recording, event: number, buffer: Buffer, cells: readonly number[],
): Value[] {
  const { columns, pools } = recording;
  const first = columns.value[event]!;
  return cells.map((cell, item) =>
    pools.value(
      columns.pool[event] as 0 | 1 | 2, first + item, buffer.types[cell % buffer.types.length]!,
    ),
  );
}

/** Return what cells held before an event; undefined where nothing was stored there yet. */
function oldOf(
  recording: Recording, event: number, buffer: Buffer, cells: readonly number[], at: WarpId,
): (Value | undefined)[] {
  const before = recording.machine.afterEvents(event);
  return cells.map((cell) => before.cell(buffer, cell, at).value);
}

function laneOf(cells: readonly number[], { lanes, per, together }: Sharing): number[] | null {
  if (together) return null;
  const numbers = lanesOf(lanes);
  return cells.map((_, item) => numbers[Math.floor(item / per)]!);
}

/** Return the sectors that cells lie in, each once, in order. */
function sectorsOf(buffer: Buffer, cells: readonly number[]): number[] {
  const found = new Set<number>();
  for (const cell of cells) {
    const byte = byteOf(buffer, cell);
    found.add(Math.floor(byte / SECTOR));
    found.add(Math.floor((byte + cellBytes(buffer, cell) - 1) / SECTOR));
  }
  return [...found].sort((one, other) => one - other);
}

function idealSectors(cells: readonly number[], { per, laneBytes }: Sharing): number {
  const places = new Set(cells.filter((_, item) => item % per === 0));
  return Math.ceil((places.size * laneBytes) / SECTOR);
}

type Banks = Pick<Request, "wavefronts" | "idealWavefronts" | "conflicts">;

const NO_BANKS: Banks = { wavefronts: 0, idealWavefronts: 0, conflicts: [] };

/**
 * Lanes that want different words of one bank wait for each other; lanes that want the same word
 * share it. Requests of 8 bytes a lane are served by halves of the warp, of 16 by quarters.
 */
function banksOf(buffer: Buffer, cells: readonly number[], sharing: Sharing): Banks {
  const { per, together, laneBytes, laneCount } = sharing;
  const served = together ? 1 : laneCount;
  const numbers = lanesOf(sharing.lanes);
  const phases = laneBytes >= 16 ? 4 : laneBytes >= 8 ? 2 : 1;
  const asked = new Map<number, Map<number, Set<number>>>();
  for (let place = 0; place < served; place++) {
    const phase = Math.floor(numbers[place]! / (WARP / phases));
    const banks = asked.get(phase) ?? new Map<number, Set<number>>();
    asked.set(phase, banks);
    for (let item = place * per; item < (place + 1) * per; item++) {
      const first = byteOf(buffer, cells[item]!);
      const last = first + cellBytes(buffer, cells[item]!) - 1;
      for (let word = Math.floor(first / BANK_BYTES); word <= last / BANK_BYTES; word++) {
        const words = banks.get(word % BANKS) ?? new Set<number>();
        banks.set(word % BANKS, words.add(word));
      }
    }
  }
  const phasesAsked = [...asked.values()];
  return {
    wavefronts: phasesAsked.reduce(
      (sum, banks) => sum + Math.max(...[...banks.values()].map((words) => words.size)), 0,
    ),
    idealWavefronts: phases === 1 ? 1 : phasesAsked.length,
    conflicts: phasesAsked.flatMap((banks) =>
      [...banks]
        .filter(([, words]) => words.size > 1)
        .map(([bank, words]) => ({ bank, words: [...words].sort((one, other) => one - other) })),
    ),
  };
}

function straysOf(
  recording: Recording, block: number, buffer: Buffer, cells: readonly number[],
): number[] {
  const { rowCells } = buffer;
  if (rowCells === 0) return [];
  const { launch } = recording.run;
  return cells.filter((cell) => !ownsRow(launch, block, Math.floor(cell / rowCells)));
}
