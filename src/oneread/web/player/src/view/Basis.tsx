// What of the launch of the kernel in focus was read in its source, and what was guessed.
import type { JSX } from "preact";
import { t } from "../strings";
import { useSession } from "./state";
import { useStore } from "./store";

export function Basis(): JSX.Element | null {
  const { store } = useSession();
  const seen = useStore(store, (state) => (state.stale ? null : state.seen[state.focus] ?? null));
  if (!seen) return null;
  const { basis } = seen.recording.run.launch;
  const { line, launches } = basis;
  const words = t.basis;
  const [launched, named, guesses] = [
    words.launched(basis),
    words.named(basis),
    words.guesses(basis),
  ];
  if (!launched && !named && !guesses) return null;
  return (
    <div class="basis" role="group" aria-label={words.title}>
      {launched || named ? (
        <span>
          <span class="soft">{words.read}</span> <span class="mono">{launched}</span>
          {launched && line !== null ? (
            <>
              {" ("}
              <button
                type="button"
                class="link"
                onClick={() => store.set({ side: "code", shown: null, paired: [line] })}
              >
                {words.line(line)}
              </button>
              {words.first(launches)})
            </>
          ) : null}
          <span class="mono">{launched && named ? `, ${named}` : named}</span>
        </span>
      ) : null}
      {guesses ? (
        <span>
          <span class="soft">{words.guessed}</span> <span class="mono">{guesses}</span>
        </span>
      ) : null}
    </div>
  );
}
