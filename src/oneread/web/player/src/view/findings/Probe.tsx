// Faults that other launches show: other sizes, inputs, tiles and orders of warps.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { faultText } from "../../model";
import { t } from "../../strings";
import { Icon } from "../Icons";
import { useSession } from "../state";
import { useStore } from "../store";
import { type Probed, distinct, isAmong, typed } from "./probed";

export function Probe({ slot }: { slot: number }): JSX.Element | null {
  const session = useSession();
  const probing = useStore(session.store, (state) => state.probing);
  const seen = useStore(session.store, (state) => state.seen[slot] ?? null);
  const box = useRef<HTMLDivElement>(null);
  const here = probing?.slot === slot;
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [here]);
  if (!probing || !here) return null;
  const { done, parts, launches, stopped, over } = probing;
  const known = seen?.recording.run.faults ?? [];
  const found = distinct(probing.findings).map((one) => ({
    one,
    hidden: !isAmong(one.fault, known),
  }));
  found.sort((one, other) => Number(other.hidden) - Number(one.hidden));
  const said = !over
    ? t.findings.probing(launches)
    : done < parts
      ? t.findings.brokenOff(launches, found.length)
      : t.findings.probed(launches, found.length);
  return (
    <div class="probe" ref={box}>
      <h3>{said}</h3>
      {stopped > 0 ? <p class="stopped">{t.findings.stopped(stopped)}</p> : null}
      {over ? null : <progress value={done} max={parts} aria-label={t.findings.probe} />}
      <ul class="faults">
        {found.map(({ one, hidden }) => (
          <Item key={one.command} found={one} hidden={hidden} />
        ))}
      </ul>
    </div>
  );
}

function Item({ found, hidden }: { found: Probed; hidden: boolean }): JSX.Element {
  const session = useSession();
  const messages = session.state.catalogue?.messages ?? {};
  const { fault, launch, command } = found;
  const title = messages[fault.id]?.title ?? fault.id;
  return (
    <li class={`fault ${fault.severity}`}>
      <p class="fault-title">
        <b>{title}</b>
        {hidden ? <span class="tag">{t.findings.hidden}</span> : null}
      </p>
      <p class="fault-text">{faultText(fault, messages)}</p>
      <code class="command">{command}</code>
      <button
        type="button"
        class="button small"
        aria-label={`${t.findings.launch}: ${title}`}
        onClick={() => session.setLaunch(typed(launch))}
      >
        <Icon name="play" /> {t.findings.launch}
      </button>
    </li>
  );
}
