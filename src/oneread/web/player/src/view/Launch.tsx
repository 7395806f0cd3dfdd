// What the kernels are launched with, and short ways to the launches that show faults.
import type { JSX } from "preact";
import { t } from "../strings";
import { Basis } from "./Basis";
import { Icon } from "./Icons";
import { FIRST_LAUNCH, type Launch as Values, useSession } from "./state";
import { useStore } from "./store";

/** Changes that lead straight to a fault, or away from it. */
const CHIPS: readonly ChipProps[] = [
  { id: "oneWarp", name: "defines", value: "TILE=32" },
  { id: "twoWarps", name: "defines", value: "TILE=64" },
  { id: "tail", name: "vocab", value: "250" },
  { id: "masked", name: "input", value: "inf-first-tile" },
  { id: "reverse", name: "schedule", value: "reverse" },
];

const NONE: readonly string[] = [];

export function Launch(): JSX.Element {
  const session = useSession();
  const { store } = session;
  const launch = useStore(store, (state) => state.launch);
  const more = useStore(store, (state) => state.more);
  const inputs = useStore(store, (state) => state.catalogue?.inputs ?? NONE);
  const schedules = useStore(store, (state) => state.catalogue?.schedules ?? NONE);
  if (!session.engine.live) return <Fixed />;
  const field = (name: keyof Values, extra: Partial<JSX.InputHTMLAttributes> = {}) => (
    <label class={`launch-field ${name}`}>
      <span>{t.launch.fields[name]}</span>
      <input
        class="field"
        value={launch[name]}
        spellcheck={false}
        autocomplete="off"
        onChange={(event) => session.setLaunch({ [name]: event.currentTarget.value })}
        {...extra}
      />
    </label>
  );
  const number = { type: "number", min: 0, inputMode: "numeric" } as const;
  return (
    <section class={more ? "launch open" : "launch"} aria-label={t.launch.title}>
      <div class="launch-row">
        {field("rows", number)}
        {field("vocab", number)}
        {field("defines", { placeholder: "TILE=64" })}
        <Choice name="input" values={inputs} />
        <Choice name="schedule" values={schedules} />
        <button
          type="button"
          class="button bare"
          aria-expanded={more}
          aria-controls="launch-more"
          onClick={() => store.set({ more: !more })}
        >
          <Icon name="sliders" /> {t.launch.more}
        </button>
        <div class="chips" role="group" aria-label={t.launch.chipsTitle}>
          <span class="soft" aria-hidden="true">
            {t.launch.chipsTitle}
          </span>
          {CHIPS.map((chip) => (
            <Chip key={chip.id} {...chip} />
          ))}
        </div>
      </div>
      {more ? (
        <div class="launch-row" id="launch-more">
          {field("grid", { placeholder: t.launch.asKnown })}
          {field("block", { placeholder: t.launch.asKnown })}
          {field("k", number)}
          {field("arguments", { placeholder: "scale=1" })}
          <label class="launch-field numbers">
            <span>{t.launch.fields.numbers}</span>
            <textarea
              class="field"
              rows={2}
              value={launch.numbers}
              placeholder={t.launch.numbersHint}
              spellcheck={false}
              onChange={(event) => session.setLaunch({ numbers: event.currentTarget.value })}
            />
          </label>
        </div>
      ) : null}
      <Basis />
    </section>
  );
}

function Choice({ name, values }: { name: "input" | "schedule"; values: readonly string[] }) {
  const session = useSession();
  const value = useStore(session.store, (state) => state.launch[name]);
  const all = values.includes(value) ? values : [value, ...values];
  return (
    <label class={`launch-field ${name}`}>
      <span>{t.launch.fields[name]}</span>
      <select
        class="field"
        value={value}
        onChange={(event) => session.setLaunch({ [name]: event.currentTarget.value })}
      >
        {all.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

interface ChipProps {
  readonly id: keyof typeof t.launch.chips;
  readonly name: keyof Values;
  readonly value: string;
}

/** A switch for one change of the launch; off, it goes back to the first view's. */
function Chip({ id, name, value }: ChipProps): JSX.Element {
  const session = useSession();
  const on = useStore(session.store, (state) => state.launch[name] === value);
  const off = name === "defines" ? value : FIRST_LAUNCH[name];
  return (
    <button
      type="button"
      class="button small"
      aria-pressed={on}
      title={`${t.launch.fields[name]}: ${value}`}
      onClick={() => session.setLaunch({ [name]: on ? off : value })}
    >
      {t.launch.chips[id]}
    </button>
  );
}

/** What a recording was launched with. */
function Fixed(): JSX.Element {
  const session = useSession();
  const seen = useStore(session.store, (state) => state.seen[0] ?? null);
  if (!seen) return <section class="launch" aria-label={t.launch.title} />;
  const { launch } = seen.recording.run;
  const defines = Object.entries(launch.defines).map(([name, value]) => `${name}=${value}`);
  return (
    <section class="launch" aria-label={t.launch.title}>
      <dl class="launch-fixed">
        {[
          [t.launch.fields.rows, String(launch.rows)],
          [t.launch.fields.vocab, String(launch.vocab)],
          [t.launch.fields.defines, defines.join(" ") || t.launch.none],
          [t.launch.fields.input, launch.input],
          [t.launch.fields.schedule, launch.schedule],
        ].map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="mono">{value}</dd>
          </div>
        ))}
      </dl>
      <Basis />
    </section>
  );
}
