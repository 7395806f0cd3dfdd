// Which cells and which lanes a step ties together, as runs of neighbours: one ribbon each.
import type { Request } from "../../model";
import { COLUMNS } from "./contents";
import { type Plan, type Plot, corner } from "./plan";

/** A ribbon: between a stretch of cells and a stretch of lanes. */
export interface Flow {
  readonly cells: readonly [number, number];
  readonly cellTop: number;
  readonly cellBottom: number;
  readonly lanes: readonly [number, number];
  readonly laneTop: number;
  readonly wide: boolean;
}

/** An arc from a cell to another one of the same array: a step of a reduction. */
export interface Arc {
  readonly from: readonly [number, number];
  readonly to: readonly [number, number];
}

/** Where cells of a request are on the plan, null where they are not. */
type Places = readonly (readonly [Plot, number] | null)[];

/** Return the places of a request's cells that are on the plan, by the order of the request. */
export function placesOf(plan: Plan, request: Request): Places {
  const plots = plan.plots.filter((one) => one.buffer?.index === request.buffer.index);
  return request.cells.map((cell) => {
    const plot = plots.find((one) => cell >= one.first && cell < one.first + one.count);
    return plot ? ([plot, cell - plot.first] as const) : null;
  });
}

/** Return the lane of each cell of a request; of one that all lanes share, the first of them. */
function lanesOf({ laneOf, lanes }: Request): readonly number[] {
  return laneOf ?? bits(lanes);
}

export function bits(mask: number): number[] {
  const found: number[] = [];
  for (let lane = 0; lane < COLUMNS; lane++) if ((mask >>> lane) & 1) found.push(lane);
  return found;
}

export function flows(plan: Plan, request: Request): Flow[] {
  const warp = plan.warps.get(request.warp);
  if (!warp) return [];
  const places = placesOf(plan, request);
  const laneWidth = plan.w / COLUMNS;
  const edge = (lane: number): number => plan.x + lane * laneWidth;
  if (request.together) return together(request, places, edge, warp.top);
  const lanes = lanesOf(request);
  const found: Flow[] = [];
  let start = 0;
  for (let next = 1; next <= places.length; next++) {
    if (next < places.length && neighbours(places, lanes, next)) continue;
    const [a, b] = [places[start], places[next - 1]];
    if (a && b) {
      const [x0, y] = corner(...a);
      const [x1] = corner(...b);
      found.push({
        cells: [x0, x1 + a[0].w],
        cellTop: y,
        cellBottom: y + a[0].h,
        lanes: [edge(lanes[start] ?? 0), edge((lanes[next - 1] ?? 0) + 1)],
        laneTop: warp.top,
        wide: next - start > 1,
      });
    }
    start = next;
  }
  return found;
}

function neighbours(places: Places, lanes: readonly number[], next: number): boolean {
  const [a, b] = [places[next - 1], places[next]];
  if (!a || !b || a[0] !== b[0] || b[1] !== a[1] + 1) return false;
  if (b[1] % COLUMNS === 0) return false; // the next line of cells
  return lanes[next] === (lanes[next - 1] ?? 0) + 1;
}

/** One address for all lanes: from the cell to all of them. */
function together(
  request: Request,
  places: Places,
  edge: (lane: number) => number,
  top: number,
): Flow[] {
  const place = places[0];
  if (!place) return [];
  const [x, y] = corner(...place);
  const active = bits(request.lanes);
  const [low = 0, high = COLUMNS - 1] = [active[0], active[active.length - 1]];
  const lanes = [edge(low), edge(high + 1)] as const;
  const { w, h } = place[0];
  return [{ cells: [x, x + w], cellTop: y, cellBottom: y + h, lanes, laneTop: top, wide: true }];
}

/** Return the arcs of a step that combines cells of an array into others of it. */
export function arcs(plan: Plan, all: readonly Request[]): Arc[] {
  const store = all.find((one) => one.kind === "store" && one.buffer.space === "shared");
  if (!store) return [];
  const target = placesOf(plan, store);
  const lanes = lanesOf(store);
  const found: Arc[] = [];
  for (const load of all) {
    if (load.kind !== "load" || load.buffer.index !== store.buffer.index) continue;
    const from = placesOf(plan, load);
    const theirs = lanesOf(load);
    from.forEach((place, index) => {
      const goal = target[lanes.indexOf(theirs[index] ?? -1)];
      if (!place || !goal || (place[0] === goal[0] && place[1] === goal[1])) return;
      found.push({ from: middle(...place), to: middle(...goal) });
    });
  }
  return found;
}

/** Where arcs begin and end: at the upper edge, so that they hide no number. */
function middle(plot: Plot, index: number): readonly [number, number] {
  const [x, y] = corner(plot, index);
  return [x + plot.w / 2, y + 1];
}
