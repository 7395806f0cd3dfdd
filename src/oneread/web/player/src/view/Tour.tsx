// Five stops of the run that is on the page. The tour moves the playhead and nothing else.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../strings";
import { Icon } from "./Icons";
import { useSession } from "./state";
import { useStore } from "./store";
import { STOPS } from "./stops";

/** How long a stop takes to be drawn, in milliseconds. */
const SETTLED = 100;

export function Tour(): JSX.Element | null {
  const session = useSession();
  const at = useStore(session.store, (state) => state.tour);
  const next = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (at === null) return;
    const stop = STOPS[at];
    stop?.go(session);
    const region = stop ? document.getElementById(stop.region) : null;
    region?.classList.add("toured");
    next.current?.focus({ preventScroll: true });
    // In one column the words cover the lower half of the window.
    const narrow = matchMedia("(max-width: 60rem)").matches;
    const reveal = (): void => region?.scrollIntoView({ block: narrow ? "start" : "nearest" });
    reveal();
    const timer = setTimeout(reveal, SETTLED); // what comes into sight may have another height
    return () => {
      clearTimeout(timer);
      region?.classList.remove("toured");
    };
  }, [at, session]);
  if (at === null) return null;
  const stop = STOPS[at];
  if (!stop) return null;
  const last = at === STOPS.length - 1;
  return (
    <aside
      class="tour"
      aria-labelledby="tour-title"
      onKeyDown={(event) => {
        if (event.key === "Escape") session.tour(null);
      }}
    >
      <p class="soft">{t.tour.count(at + 1, STOPS.length)}</p>
      <h2 id="tour-title">{t.tour.stops[stop.id].title}</h2>
      <p aria-live="polite">{t.tour.stops[stop.id].text}</p>
      <div class="actions">
        <button
          type="button"
          class="button"
          disabled={at === 0}
          onClick={() => session.tour(at - 1)}
        >
          {t.tour.back}
        </button>
        <button
          ref={next}
          type="button"
          class="button first"
          onClick={() => session.tour(last ? null : at + 1)}
        >
          {last ? t.tour.end : t.tour.next}
        </button>
        <button
          type="button"
          class="button bare icon leave"
          aria-label={t.tour.leave}
          onClick={() => session.tour(null)}
        >
          <Icon name="close" />
        </button>
      </div>
    </aside>
  );
}
