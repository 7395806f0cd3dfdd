/** A link to what is on the screen, as the part of an address behind `#`. Knows no page. */

import type { Link, LinkedKernel } from "./answers";

/** Sources that a link can hold; more than the tracer reads, less than what harms a page. */
const LONGEST = 1_000_000;

/** Names with a meaning of their own; all others belong to the launch. */
const KERNEL = "kernel";
const PLACE = "at";
const VIEW = "view";
const SOURCE = /^src(\d+)$/;

/** Return a link; sources that were edited are in it, compressed. */
export async function encodeLink(link: Link): Promise<string> {
  const out = new URLSearchParams();
  for (const { key } of link.kernels) out.append(KERNEL, key);
  for (const [name, value] of Object.entries(link.launch)) {
    if (isTaken(name)) throw new RangeError(`'${name}' is no name of a launch`);
    out.append(name, value);
  }
  if (link.place !== undefined) {
    const { kernel, line, hit } = link.place;
    out.append(PLACE, `${kernel}.${line}.${hit}`);
  }
  if (link.view !== undefined) out.append(VIEW, link.view);
  for (const [index, { text }] of link.kernels.entries()) {
    if (text !== undefined) out.append(`src${index}`, await packed(text));
  }
  return out.toString();
}

/** Return what such a part says, null where it is none or was cut. */
export async function decodeLink(hash: string): Promise<Link | null> {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const keys = given.getAll(KERNEL);
  if (keys.length === 0) return null;
  const kernels: LinkedKernel[] = [];
  for (const [index, key] of keys.entries()) {
    const source = given.get(`src${index}`);
    if (source === null) kernels.push({ key });
    else {
      const text = await unpacked(source);
      if (text === null) return null;
      kernels.push({ key, text });
    }
  }
  const place = placeOf(given.get(PLACE), keys.length);
  if (place === null) return null;
  const view = given.get(VIEW);
  return {
    kernels,
    launch: Object.fromEntries([...given].filter(([name]) => !isTaken(name))),
    ...(place === undefined ? {} : { place }),
    ...(view === null ? {} : { view }),
  };
}

function isTaken(name: string): boolean {
  return name === KERNEL || name === PLACE || name === VIEW || SOURCE.test(name);
}

/** Return the place that a link names: undefined for none, null for one that cannot be read. */
function placeOf(text: string | null, kernels: number): Link["place"] | null {
  if (text === null) return undefined;
  const found = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(text);
  if (found === null) return null;
  const [kernel, line, hit] = found.slice(1).map(Number) as [number, number, number];
  return kernel < kernels && line > 0 && hit > 0 ? { kernel, line, hit } : null;
}

async function packed(text: string): Promise<string> {
  const plain = new TextEncoder().encode(text);
  const bytes = await through(plain, new CompressionStream("deflate"));
  if (bytes === null || plain.length > LONGEST) {
    throw new RangeError("the source is too long for a link");
  }
  let raw = "";
  for (const byte of bytes) raw += String.fromCharCode(byte);
  return btoa(raw).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text: string): Promise<string | null> {
  if (!/^[\w-]+$/.test(text)) return null;
  try {
    const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(raw, (char) => char.charCodeAt(0));
    const plain = await through(bytes, new DecompressionStream("deflate"));
    return plain === null ? null : new TextDecoder("utf-8", { fatal: true }).decode(plain);
  } catch {
    // Whoever sends a link may have cut it: that is no fault of the page.
    return null;
  }
}

/** Return what comes out of a stream, null where it is longer than a source can be. */
async function through(
  bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array | null> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > LONGEST) {
      await reader.cancel();
      return null;
    }
    parts.push(value);
  }
  const out = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
