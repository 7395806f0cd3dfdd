// The timeline: scrub it with the pointer, or with the arrow keys while it has the focus. Below it
// lies the whole run; what is chosen there is in view above.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../strings";
import { useSession } from "../state";
import { useStore } from "../store";
import { Drawing } from "./drawing";

export function Timeline(): JSX.Element {
  const session = useSession();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current) return;
    const drawing = new Drawing(session, box.current);
    return () => drawing.destroy();
  }, [session]);
  return (
    <div class="timeline" ref={box}>
      <div class="tracks">
        <canvas aria-hidden="true" />
        <Slider />
      </div>
      <div class="overview" title={t.deck.overview} aria-hidden="true">
        <canvas />
        <div class="overview-track">
          <div class="overview-window" />
          <div class="overview-head" />
        </div>
      </div>
    </div>
  );
}

function Slider(): JSX.Element {
  const session = useSession();
  const { playback, store } = session;
  useStore(store, (state) => state.moves);
  const seen = useStore(store, (state) => state.seen[state.focus] ?? null);
  return (
    <div
      class="playhead-track"
      role="slider"
      tabIndex={0}
      aria-label={t.deck.timeline}
      aria-valuemin={0}
      aria-valuemax={seen?.recording.length ?? 0}
      aria-valuenow={(seen?.at ?? -1) + 1}
      aria-valuetext={seen ? t.deck.position(seen) : ""}
      onKeyDown={(event) => {
        if (event.key === "PageUp" || event.key === "PageDown") {
          playback.move(event.key === "PageUp" ? -1 : 1, "pass");
          event.preventDefault();
        }
      }}
    >
      <div class="playhead" />
    </div>
  );
}
