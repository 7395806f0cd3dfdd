// The keys, and the switch that turns them off.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../strings";
import { Icon } from "./Icons";
import { KEYS } from "./keys";
import { useSession } from "./state";
import { useStore } from "./store";

export function Help(): JSX.Element {
  const session = useSession();
  const open = useStore(session.store, (state) => state.dialog === "help");
  const shortcuts = useStore(session.store, (state) => state.shortcuts);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const one = dialog.current;
    if (open && one && !one.open) one.showModal();
    if (!open && one?.open) one.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={() => session.store.set({ dialog: null })}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="help-body">
        <header>
          <h2 id="help-title">{t.help.title}</h2>
          <button
            type="button"
            class="button bare icon"
            aria-label={t.help.close}
            onClick={() => dialog.current?.close()}
          >
            <Icon name="close" />
          </button>
        </header>
        <label class="switch">
          <input
            type="checkbox"
            checked={shortcuts}
            onChange={(event) => session.setShortcuts(event.currentTarget.checked)}
          />
          {t.help.shortcuts}
        </label>
        <dl class="keys">
          {KEYS.map(([keys, action]) => (
            <div key={action}>
              <dt>
                {keys.split(" ").map((one) => (
                  <kbd key={one}>{one}</kbd>
                ))}
              </dt>
              <dd>{t.keys[action]}</dd>
            </div>
          ))}
        </dl>
        <h3>{t.help.readTitle}</h3>
        <ul class="read">
          {t.help.read.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      </div>
    </dialog>
  );
}
