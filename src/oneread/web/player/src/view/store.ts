// A value that tells its listeners when it is another one.
import { useEffect, useReducer, useRef } from "preact/hooks";

export class Store<State extends object> {
  #state: State;
  readonly #listeners = new Set<() => void>();

  constructor(state: State) {
    this.#state = state;
  }

  get state(): Readonly<State> {
    return this.#state;
  }

  /** Change some fields; listeners hear of it once, and only if something differs. */
  set(change: Partial<State>): void {
    const next = { ...this.#state, ...change };
    const names = Object.keys(change) as (keyof State)[];
    if (names.every((name) => Object.is(next[name], this.#state[name]))) return;
    this.#state = next;
    for (const listener of [...this.#listeners]) listener();
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Draw the component again whenever what it chooses of the store is another value. */
export function useStore<State extends object, Chosen>(
  store: Store<State>,
  choose: (state: Readonly<State>) => Chosen,
): Chosen {
  const [, again] = useReducer((count: number) => count + 1, 0);
  const chosen = choose(store.state);
  const drawn = useRef({ choose, chosen });
  drawn.current = { choose, chosen };
  useEffect(() => {
    const look = (): void => {
      const { choose, chosen } = drawn.current;
      if (!Object.is(choose(store.state), chosen)) again(undefined);
    };
    look(); // it may have changed between drawing and listening
    return store.listen(look);
  }, [store]);
  return chosen;
}
