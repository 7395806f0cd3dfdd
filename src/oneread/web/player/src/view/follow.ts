// Following the playheads with an eye on what can be seen.
import { useEffect, useState } from "preact/hooks";
import { useSession } from "./state";

/** How long playheads have to rest before what is out of sight follows them, in milliseconds. */
const REST = 300;

/** Count the moves of playheads: each of them while an element is in sight, else once they rest. */
export function useMoves(box: { readonly current: HTMLElement | null }): number {
  const { store } = useSession();
  const [moves, set] = useState(store.state.moves);
  useEffect(() => {
    if (!box.current) return;
    let seen = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const follow = (): void => set(store.state.moves);
    const observer = new IntersectionObserver((entries) => {
      seen = entries.at(-1)?.isIntersecting ?? true;
      if (seen) follow();
    });
    observer.observe(box.current);
    const undo = store.listen(() => {
      clearTimeout(timer);
      if (seen) follow();
      else timer = setTimeout(follow, REST);
    });
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      undo();
    };
  }, [store, box]);
  return moves;
}
