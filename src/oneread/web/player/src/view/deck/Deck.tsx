// The deck: buttons that move the playhead, the sentence of the step, the timeline.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { UNITS, type Unit, sentence } from "../../model";
import { t } from "../../strings";
import { Icon, type IconName } from "../Icons";
import { SPEEDS, useSession } from "../state";
import { useStore } from "../store";
import { Timeline } from "./Timeline";
import { isWhole } from "./axis";

export function Deck(): JSX.Element {
  return (
    <footer class="deck" aria-label={t.deck.title}>
      <div class="deck-row">
        <Transport />
        <Sentence />
        <Zoom />
        <Pace />
      </div>
      <Timeline />
    </footer>
  );
}

function Transport(): JSX.Element {
  const session = useSession();
  const { playback, store } = session;
  const playing = useStore(store, (state) => state.playing);
  const empty = useStore(store, (state) => state.seen.every((one) => one === null));
  const button = (icon: IconName, label: string, keys: string, act: () => void, strong = false) => (
    <button
      type="button"
      class={`button icon${strong ? " first" : ""}`}
      aria-label={label}
      aria-keyshortcuts={keys}
      title={`${label} (${keys})`}
      disabled={empty}
      onClick={act}
    >
      <Icon name={icon} />
    </button>
  );
  const still = (act: () => void) => () => {
    playback.pause();
    act();
  };
  return (
    <div class="transport" role="group" aria-label={t.deck.transport}>
      {button(
        "first",
        t.deck.first,
        "Home",
        still(() => playback.first()),
      )}
      {button(
        "back",
        t.deck.back,
        "ArrowLeft",
        still(() => playback.move(-1)),
      )}
      {button(
        playing ? "pause" : "play",
        playing ? t.deck.pause : t.deck.play,
        "Space",
        () => playback.toggle(),
        true,
      )}
      {button(
        "forward",
        t.deck.forward,
        "ArrowRight",
        still(() => playback.move(1)),
      )}
      {button(
        "last",
        t.deck.last,
        "End",
        still(() => playback.last()),
      )}
    </div>
  );
}

/** The step in words. A screen reader hears it when the playhead rests. */
function Sentence(): JSX.Element {
  const { store } = useSession();
  const moves = useStore(store, (state) => state.moves);
  const playing = useStore(store, (state) => state.playing);
  const seen = useStore(store, (state) => state.seen[state.focus] ?? null);
  const name = useStore(store, (state) =>
    state.slots.length > 1 ? (state.slots[state.focus]?.key ?? "") : "",
  );
  const messages = useStore(store, (state) => state.catalogue?.messages);
  const [spoken, speak] = useState("");
  const text = !seen
    ? ""
    : seen.at < 0
      ? t.deck.before
      : sentence(seen.recording, seen.at, messages);
  useEffect(() => {
    if (playing) return;
    const timer = setTimeout(() => speak(text), 250);
    return () => clearTimeout(timer);
  }, [text, playing, moves]);
  return (
    <div class="sentence">
      <p class="sentence-place soft">
        {name ? <span class="mono">{name}</span> : null}
        {seen ? <span>{t.deck.position(seen)}</span> : null}
        {seen ? <GoTo length={seen.recording.length} /> : null}
      </p>
      <p class="sentence-text">{text}</p>
      <p class="unseen" role="status" aria-live="polite">
        {playing ? "" : spoken}
      </p>
    </div>
  );
}

/** A step by its number, as a sentence or a colleague names it. */
function GoTo({ length }: { length: number }): JSX.Element {
  const session = useSession();
  return (
    <input
      id="go-to"
      class="field"
      type="number"
      min={1}
      max={length}
      aria-label={t.deck.goTo}
      placeholder={t.deck.goTo}
      title={`${t.deck.goTo} (G)`}
      onKeyDown={(event) => {
        const { value } = event.currentTarget;
        if (event.key !== "Enter" || value === "") return;
        session.playback.pause();
        session.playback.jump(session.state.focus, Number(value) - 1);
        event.currentTarget.value = "";
        event.currentTarget.blur();
      }}
    />
  );
}

/** Buttons for what the strip of the timeline does with the pointer. */
function Zoom(): JSX.Element {
  const session = useSession();
  const whole = useStore(session.store, ({ span }) => isWhole(span));
  const button = (icon: IconName, label: string, key: string, by: number | null, off: boolean) => (
    <button
      type="button"
      class="button bare icon small"
      aria-label={label}
      aria-keyshortcuts={key}
      title={`${label} (${key})`}
      disabled={off}
      onClick={() => session.playback.zoom(by)}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <div class="zoom" role="group" aria-label={t.deck.zoom}>
      {button("minus", t.deck.zoomOut, "-", 2, whole)}
      {button("whole", t.deck.zoomAll, "0", null, whole)}
      {button("plus", t.deck.zoomIn, "+", 0.5, false)}
    </div>
  );
}

function Pace(): JSX.Element {
  const { store } = useSession();
  const unit = useStore(store, (state) => state.unit);
  const speed = useStore(store, (state) => state.speed);
  return (
    <div class="pace">
      <label>
        <span class="soft">{t.deck.unit}</span>
        <select
          class="field"
          value={unit}
          onChange={(event) => store.set({ unit: event.currentTarget.value as Unit })}
        >
          {UNITS.map((one) => (
            <option key={one} value={one}>
              {t.units[one]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="soft">{t.deck.speed}</span>
        <select
          class="field"
          value={String(speed)}
          onChange={(event) => store.set({ speed: Number(event.currentTarget.value) })}
        >
          {SPEEDS.map((one) => (
            <option key={one} value={String(one)}>
              {one} ×
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
