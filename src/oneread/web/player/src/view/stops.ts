// Where the tour stops: places of the run that is shown, found in it.
import { worstFirst } from "./playback";
import type { Session } from "./session";

export interface Stop {
  readonly id: "load" | "passes" | "correction" | "fault" | "yours";
  /** The region that it points at. */
  readonly region: string;
  go(session: Session): void;
}

export const STOPS: readonly Stop[] = [
  { id: "load", region: "machine", go: ({ playback }) => playback.first() },
  {
    id: "passes",
    region: "machine",
    go({ playback, state }) {
      // Where the kernel that moves least has ended, another one is still on its way.
      const ends = state.seen.map((one) => one?.allBytes ?? Infinity);
      playback.seek(Math.min(...ends));
    },
  },
  {
    id: "correction",
    region: "chart",
    go(session) {
      const slot = session.state.seen.findIndex(
        (one) => (one?.curve(one.block).beads.length ?? 0) > 0,
      );
      const seen = session.state.seen[slot];
      const [bead] = seen?.curve(seen.recording.blocks[0] ?? 0).beads ?? [];
      if (slot < 0 || !bead) return;
      session.focus(slot);
      session.playback.jump(slot, bead.step);
    },
  },
  {
    id: "fault",
    region: "findings",
    go(session) {
      const worst = session.state.seen.map((one) => one && worstFirst(one.recording)[0]?.fault);
      const slot = worst.findIndex(Boolean);
      const fault = worst[slot];
      if (fault) session.show(slot, fault);
    },
  },
  { id: "yours", region: "editor", go: ({ playback }) => playback.first() },
];
