// The argument in seven steps, each with the numbers of the run and a step of it to go to.
import type { JSX } from "preact";
import type { LessonStep, Operation, PassList } from "../../model";
import { t } from "../../strings";
import { Icon } from "../Icons";
import { Formula } from "../math";
import type { Seen } from "../seen";
import { useSession } from "../state";
import { useStore } from "../store";
import { FORMULAS } from "./formulas";

export function Lesson(): JSX.Element {
  const session = useSession();
  const seen = useStore(session.store, (state) => state.seen[state.focus] ?? null);
  const name = useStore(session.store, (state) => state.slots[state.focus]?.key ?? "");
  const block = useStore(session.store, (state) => state.seen[state.focus]?.block ?? 0);
  const at = useStore(session.store, (state) => state.seen[state.focus]?.at ?? -1);
  const steps = seen?.lesson(block) ?? [];
  return (
    <div class="lesson" id="lesson">
      <h2>{t.lesson.title}</h2>
      <p class="soft">{steps.length > 0 ? t.lesson.intro(name) : t.lesson.none}</p>
      <ol class="steps">
        {steps.map((step) => (
          <Item key={step.id} step={step} here={step.step === at} />
        ))}
      </ol>
      {seen ? <Passes seen={seen} block={block} /> : null}
    </div>
  );
}

function Item({ step, here }: { step: LessonStep; here: boolean }): JSX.Element {
  const session = useSession();
  const { title, text } = t.lesson.steps[step.id];
  const { general, here: numbers } = FORMULAS[step.id];
  const live = numbers(step.values);
  const go = step.step;
  return (
    <li class={here ? "step here" : "step"}>
      <h3>{title}</h3>
      <div class="formulas">
        <Formula block>{general()}</Formula>
        {live ? <Formula block>{live}</Formula> : null}
      </div>
      <p>{text(step.values)}</p>
      {go !== null ? (
        <button
          type="button"
          class="button small"
          aria-label={t.lesson.goTo(title)}
          onClick={() => session.playback.jump(session.state.focus, go)}
        >
          <Icon name="forward" /> {t.lesson.go}
        </button>
      ) : null}
    </li>
  );
}

/** What each pass reads, writes and does in shared memory, from the trace. */
function Passes({ seen, block }: { seen: Seen; block: number }): JSX.Element | null {
  const lists = seen.passLists(block);
  if (lists.length === 0) return null;
  return (
    <section class="pass-lists" aria-label={t.lesson.passes.title}>
      <h2>{t.lesson.passes.title}</h2>
      {lists.map((list) => (
        <Pass key={list.number} list={list} />
      ))}
    </section>
  );
}

function Pass({ list }: { list: PassList }): JSX.Element {
  const words = t.lesson.passes;
  const groups = [
    ["hbm", words.reads, list.reads],
    ["hbm", words.writes, list.writes],
    ["sram", words.shared, list.shared],
  ] as const;
  return (
    <div class="pass-list">
      <h3>{list.number === 0 ? words.before : words.pass(list.number)}</h3>
      <dl>
        {groups.map(([band, name, operations]) => (
          <div key={name} class={band}>
            <dt>{name}</dt>
            <dd>
              {operations.length === 0 ? (
                <span class="soft">{words.nothing}</span>
              ) : (
                operations.map((one) => <Moved key={keyOf(one)} operation={one} />)
              )}
              {band === "sram" && list.barriers > 0 ? (
                <span>{words.barriers(list.barriers)}</span>
              ) : null}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function keyOf({ line, buffer, kind }: Operation): string {
  return `${line} ${buffer.index} ${kind}`;
}

function Moved({ operation }: { operation: Operation }): JSX.Element {
  const session = useSession();
  const { line, buffer, kind, elements, requests } = operation;
  const words = t.lesson.passes;
  return (
    <button type="button" class="link" onClick={() => session.playback.visit(line)}>
      {words.moved(elements, buffer.name, words.kinds[kind], line, requests)}
    </button>
  );
}
