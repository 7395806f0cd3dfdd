// The address: what is on the page and where the playhead is, so that it can be sent to somebody.
// A place is an execution of a line, which survives edits better than the number of a step.
import { type Link, decodeLink, encodeLink } from "../model";
import type { Session } from "./session";
import { FIRST_LAUNCH, type Launch, type Side, kernelsOf } from "./state";

export interface Linked {
  readonly kernels: Link["kernels"];
  readonly launch: Launch;
  readonly watched: readonly string[];
  readonly lane: number | null;
  readonly side: Side;
  readonly tables: boolean;
  readonly place: Link["place"];
}

/** What a link holds beside the launch: what the chart shows, and of which lane. */
const WATCH = "watch";
const LANE = "lane";

/** How long the page has to rest before the address follows it, in milliseconds. */
const REST = 600;

export class LinkKeeper {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #written = "";

  constructor(private readonly session: Session) {}

  /** Return what the address says, null where it says nothing. */
  async read(): Promise<Linked | null> {
    const link = await decodeLink(location.hash.replace(/^#/, ""));
    if (link === null || link.kernels.length === 0) return null;
    const launch: Record<string, string> = { ...FIRST_LAUNCH };
    for (const [name, value] of Object.entries(link.launch)) {
      if (name in launch) launch[name] = value;
    }
    const shows = (what: string): boolean => link.view?.split(",").includes(what) ?? false;
    const { [WATCH]: watch = "", [LANE]: lane = "" } = link.launch;
    return {
      kernels: link.kernels,
      launch: launch as unknown as Launch,
      watched: watch.split("\n").filter(Boolean),
      lane: /^([12]?\d|3[01])$/.test(lane) ? Number(lane) : null,
      side: shows("lesson") ? "lesson" : "code",
      tables: shows("tables"),
      place: link.place,
    };
  }

  async url(): Promise<string> {
    return `${location.href.split("#")[0]}#${await encodeLink(this.#link())}`;
  }

  #link(): Link {
    const { slots, launch, seen, focus, watched, lane, side, tables } = this.session.state;
    const changed = Object.entries(launch).filter(
      ([name, value]) => value !== FIRST_LAUNCH[name as keyof Launch],
    );
    if (watched.length > 0) changed.push([WATCH, watched.join("\n")]);
    if (lane !== null) changed.push([LANE, String(lane)]);
    const place = seen[focus]?.player.place();
    const view = [side === "lesson" && side, tables && "tables"].filter(Boolean);
    return {
      kernels: kernelsOf(slots),
      launch: Object.fromEntries(changed),
      ...(place ? { place: { kernel: focus, ...place } } : {}),
      ...(view.length > 0 ? { view: view.join() } : {}),
    };
  }

  /** Keep the address up to date, and obey one that is typed or pasted. */
  follow(): void {
    this.session.store.listen(() => {
      if (this.session.state.playing) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#write(), REST);
    });
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.#written) location.reload();
    });
  }

  async #write(): Promise<void> {
    const hash = await encodeLink(this.#link());
    if (hash === this.#written || this.session.state.slots.length === 0) return;
    this.#written = hash;
    history.replaceState(null, "", `#${hash}`);
  }
}
