// What is drawn some frames after the first run is there, so that no frame has all of it to draw:
// who opens the page sees the machine first.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useSession } from "./state";
import { useStore } from "./store";

interface Props {
  readonly frames: number;
  readonly children: ComponentChildren;
}

export function Later({ frames, children }: Props): ComponentChildren {
  const { store } = useSession();
  const ready = useStore(store, (state) => state.seen.some((one) => one !== null));
  const [left, set] = useState(frames);
  useEffect(() => {
    if (!ready || left === 0) return;
    const frame = requestAnimationFrame(() => set(left - 1));
    return () => cancelAnimationFrame(frame);
  }, [ready, left]);
  return left > 0 ? null : children;
}
