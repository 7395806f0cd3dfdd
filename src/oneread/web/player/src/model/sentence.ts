/** A step in one plain sentence, for whoever does not see the picture. */

import type { Fault } from "../schema";
import { exchange } from "./exchange";
import { WARP, laneList, popcount, ranges, short } from "./numbers";
import type { Recording } from "./recording";
import { requests } from "./requests";
import type { Buffer, Request, Step } from "./types";
import { type Words, english } from "./words";

/** Texts of faults by their ids, with the names of parameters in braces. */
export type Messages = Readonly<Record<string, { readonly text: string }>>;

/** Ranges of elements that are named; the others are counted. */
const NAMED = 3;

/** Return a step in one plain sentence; what a fault says follows where its text is known. */
export function sentence(
  recording: Recording, index: number, messages: Messages = {}, words: Words = english,
): string {
  if (index < 0) return words.start;
  const step = recording.step(index);
  const parts = [
    ...requests(recording, index).map((one) => asked(one, words)),
    ...exchanged(recording, step, words),
    ...variables(recording, step, words),
    ...meetings(recording, step, words),
  ];
  const said = parts.length > 0 ? parts.join("; ") : words.computes;
  const faults = recording.run.faults
    .filter((one) => one.lanes !== 0 && one.step === step.number)
    .map((one) => ` ${words.fault(faultText(one, messages))}.`);
  return `${words.where(step)}: ${said}.${faults.join("")}`;
}

/** Return a fault in words, from the catalogue's texts; its id where there is none. */
export function faultText(fault: Fault, messages: Messages): string {
  const shown: Record<string, unknown> = {
    line: fault.line,
    with_line: fault.with_line,
    block: fault.block,
    warp: fault.warp,
    buffer: fault.buffer,
    index: fault.index,
    lanes: laneList(fault.lanes),
    ...fault.parameters,
  };
  const text = messages[fault.id]?.text ?? fault.id;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(shown[name] ?? whole));
}

/** Return cells as the source would name them: `x[32..63]`. */
export function cellsText(
  buffer: Buffer, cells: readonly number[], words: Words = english,
): string {
  const parts = buffer.types.length;
  if (buffer.cells === parts) return buffer.name;
  // Each lane has its own part of a local array, and counts from 0.
  const own = buffer.space === "local" ? buffer.cells / parts / WARP : Infinity;
  const found = ranges(cells.map((cell) => Math.floor(cell / parts) % own));
  const named = found.slice(0, NAMED).map(({ low, high, stride }) => {
    if (low === high) return String(low);
    return stride === 1 ? `${low}..${high}` : `${low}..${high} step ${stride}`;
  });
  const rest = found.length > NAMED ? ` ${words.more(found.length - NAMED)}` : "";
  return `${buffer.name}[${named.join(", ")}]${rest}`;
}

function asked(request: Request, words: Words): string {
  const { kind, buffer, cells, sectors, idealSectors, wavefronts, idealWavefronts } = request;
  const parts = [words[kind]({ lanes: request.laneCount, cells: cellsText(buffer, cells, words) })];
  if (sectors.length > idealSectors) parts.push(words.scattered(sectors.length, idealSectors));
  else if (sectors.length > 0) parts.push(words.sectors(sectors.length));
  if (wavefronts > idealWavefronts) parts.push(words.conflict(wavefronts, idealWavefronts));
  if (request.strays.length > 0) parts.push(words.strays(request.strays.length));
  return parts.join(", ");
}

function exchanged(recording: Recording, { index }: Step, words: Words): string[] {
  const found = exchange(recording, index);
  return found === undefined ? [] : [words.exchange(found.name)];
}

function variables(recording: Recording, step: Step, words: Words): string[] {
  const { columns, names } = recording;
  const [from, to] = recording.eventsOf(step.index);
  const changed = new Set<string>();
  for (let event = from; event < to; event++) {
    if (recording.operation(event) === "register") changed.add(names[columns.name[event]!]!.name);
  }
  const state = recording.state(step.index);
  return [...changed].flatMap((name) => {
    const held = state.register(step, name);
    // Addresses say nothing to a reader.
    if (held === undefined || held.type.endsWith("*")) return [];
    const first = held.values.find((_, lane) => (held.set >>> lane) & 1);
    return held.uniform && first !== undefined
      ? [words.becomes(name, short(first))]
      : [words.set(name, popcount(step.lanes))];
  });
}

function meetings(recording: Recording, step: Step, words: Words): string[] {
  const [from, to] = recording.eventsOf(step.index);
  const parts: string[] = [];
  for (let event = from; event < to; event++) {
    const operation = recording.operation(event);
    if (operation === "branch") parts.push(words.branch);
    if (operation !== "barrier") continue;
    const waiting = recording.state(step.index).waiting(step.block);
    if (waiting === undefined) continue;
    parts.push(
      waiting.complete ? words.released : words.arrives(waiting.warps.length, recording.warps),
    );
  }
  return parts;
}
