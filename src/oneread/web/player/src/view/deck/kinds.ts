// What each step does, in one number, for the timeline: read from the columns of the file at once.
import type { Recording } from "../../model";

/** By what counts more where several steps fall on one pixel. */
export const enum Kind {
  Compute,
  Barrier,
  Shared,
  Load,
  Store,
}

/** Return the kind of every step; what moves global memory counts before what does not. */
export function kindsOf(recording: Recording): Uint8Array {
  return recording.once(findKinds);
}

function findKinds({ run }: Recording): Uint8Array {
  const file = run.recording;
  if (file === null) return new Uint8Array(0);
  const { steps, events, operations, names } = file;
  const kinds = new Uint8Array(steps.end.length);
  const ofOperation = operations.map((name) =>
    name === "store" || name === "atomic" ? Kind.Store : name === "load" ? Kind.Load : Kind.Compute,
  );
  const barrier = operations.indexOf("barrier");
  let event = 0;
  for (let step = 0; step < kinds.length; step++) {
    let kind = Kind.Compute;
    for (const end = steps.end[step] ?? 0; event < end; event++) {
      const operation = events.operation[event] ?? 0;
      const space = names[events.name[event] ?? 0]?.space;
      let found = operation === barrier ? Kind.Barrier : Kind.Compute;
      if (space === "shared") found = Kind.Shared;
      if (space === "global") found = ofOperation[operation] ?? Kind.Compute;
      if (found > kind) kind = found;
    }
    kinds[step] = kind;
  }
  return kinds;
}
