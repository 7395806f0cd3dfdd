// A line that the page says for a moment.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useSession } from "./state";
import { useStore } from "./store";

/** How long it stays, in milliseconds. */
const STAYS = 6000;

export function Said(): JSX.Element {
  const { store } = useSession();
  const said = useStore(store, (state) => state.said);
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => store.set({ said: "" }), STAYS);
    return () => clearTimeout(timer);
  }, [said, store]);
  return (
    <p class={`said${said ? " on" : ""}`} role="status">
      {said}
    </p>
  );
}
