// The head of the page: what to look at, and what to do with it.
import type { JSX } from "preact";
import { t } from "../strings";
import { Icon, type IconName } from "./Icons";
import { KernelSelect } from "./KernelSelect";
import type { Kernels } from "./kernels";
import { MOST_KERNELS, type Theme, isOwn, useSession } from "./state";
import { useStore } from "./store";

const NEXT_THEME: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" };

export function Bar(): JSX.Element {
  const session = useSession();
  const { store } = session;
  const theme = useStore(store, (state) => state.theme);
  const toured = useStore(store, (state) => state.toured);
  const live = session.engine.live;
  const button = (icon: IconName, label: string, act: () => void, keys = "") => (
    <button
      type="button"
      class="button bare icon"
      aria-label={label}
      title={keys ? `${label} (${keys})` : label}
      onClick={act}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <header class="bar">
      <h1 class="mark">
        <b>oneread</b>
        <span class="soft">{t.bar.motto}</span>
      </h1>
      {live ? <Presets /> : <Recorded />}
      <div class="bar-tools">
        {toured ? (
          button("tour", t.bar.tour, () => session.tour(0))
        ) : (
          <button type="button" class="button tour-button" onClick={() => session.tour(0)}>
            <Icon name="tour" /> {t.bar.tour}
          </button>
        )}
        {button("link", t.bar.share, () => void session.share())}
        {live ? button("download", t.bar.export, () => void session.mending.export()) : null}
        {button(theme === "dark" ? "moon" : "sun", t.bar.theme(theme), () =>
          session.setTheme(NEXT_THEME[theme]),
        )}
        {button("help", t.bar.help, () => store.set({ dialog: "help" }), "?")}
        {live ? <Run /> : null}
      </div>
    </header>
  );
}

function Run(): JSX.Element {
  const session = useSession();
  const running = useStore(session.store, (state) => state.running);
  return (
    <button
      type="button"
      class="button first run"
      aria-keyshortcuts="Control+Enter"
      title={`${t.bar.run} (Ctrl+Enter)`}
      aria-busy={running}
      onClick={() => void session.run()}
    >
      <Icon name="play" /> {running ? t.bar.running : t.bar.run}
    </button>
  );
}

function Presets(): JSX.Element {
  const session = useSession();
  const slots = useStore(session.store, (state) => state.slots);
  const one = slots.length === 1 ? (slots[0]?.key ?? "") : "";
  return (
    <div class="presets">
      <KernelSelect
        label={t.bar.presets}
        value={one}
        onChoose={(key) => choose(session.kernels, key)}
      >
        <>
          {one ? null : <option value="">{t.bar.several(slots.length)}</option>}
          <option value="*">{t.bar.firstView}</option>
          <option value="kernel.cu">{t.bar.own}</option>
        </>
      </KernelSelect>
      <button
        type="button"
        class="button"
        disabled={slots.length >= MOST_KERNELS}
        onClick={() => session.kernels.add()}
      >
        <Icon name="plus" /> {t.bar.add}
      </button>
    </div>
  );
}

function choose(kernels: Kernels, key: string): void {
  if (key === "*") kernels.openFirst();
  else if (isOwn(key)) kernels.openOwn();
  else kernels.open(key);
}

/** A recording says that it is one, and how to get the page that runs. */
function Recorded(): JSX.Element {
  const { engine } = useSession();
  return (
    <p class="recorded">
      <span class="tag">{t.bar.recording}</span>
      <span class="soft">{t.bar.makeLive}</span>{" "}
      <code class="command" title={engine.command}>
        {engine.command}
      </code>
    </p>
  );
}
