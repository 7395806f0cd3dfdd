// What is watched besides m and d: variables chosen from the kernel, and formulas over them.
import type { JSX } from "preact";
import { isWatchable, variables } from "../../model";
import { t } from "../../strings";
import { Icon } from "../Icons";
import type { Seen } from "../seen";
import { useSession } from "../state";
import { useStore } from "../store";

export function Watch({ seen }: { seen: Seen }): JSX.Element {
  const session = useSession();
  const watched = useStore(session.store, (state) => state.watched);
  const all = variables(seen.recording);
  const free = all.filter((one) => !watched.includes(one.name));
  return (
    <div class="watch">
      <label>
        <span class="soft">{t.chart.watch}</span>
        <select
          class="field"
          value=""
          disabled={free.length === 0}
          onChange={(event) => {
            session.watch(event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        >
          <option value="">{t.chart.variable}</option>
          {(["register", "shared"] as const).map((space) => (
            <optgroup key={space} label={t.bands[space === "shared" ? "sram" : "register"].name}>
              {free
                .filter((one) => one.space === space)
                .map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
            </optgroup>
          ))}
        </select>
      </label>
      <input
        class="field"
        aria-label={t.chart.formula}
        placeholder="m + logf(d)"
        spellcheck={false}
        autocomplete="off"
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
          if (session.watch(event.currentTarget.value)) event.currentTarget.value = "";
        }}
      />
      <ul>
        {watched.map((text) => (
          <li key={text} class={isWatchable(seen.recording, text) ? "tag" : "tag absent"}>
            <span class="mono">{text}</span>
            {isWatchable(seen.recording, text) ? null : <span>{t.chart.absent}</span>}
            <button
              type="button"
              class="button bare icon small"
              aria-label={t.chart.unwatch(text)}
              title={t.chart.unwatch(text)}
              onClick={() => session.unwatch(text)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
