// Faults that other launches show: other sizes, inputs, tiles and orders of warps.
import type { JSX } from "preact";
import { faultText } from "../../model";
import { t } from "../../strings";
import { useSession } from "../state";
import { useStore } from "../store";

export function Probe({ slot }: { slot: number }): JSX.Element | null {
  const session = useSession();
  const probing = useStore(session.store, (state) => state.probing);
  if (!probing || probing.slot !== slot) return null;
  const messages = session.state.catalogue?.messages ?? {};
  const { done, parts, launches, findings } = probing;
  const ended = done >= parts;
  return (
    <div class="probe">
      <h3>{ended ? t.findings.probed(launches, findings.length) : t.findings.probing(launches)}</h3>
      {ended ? null : <progress value={done} max={parts} aria-label={t.findings.probe} />}
      <ul class="faults">
        {findings.map(({ fault, command }, index) => (
          <li key={index} class={`fault ${fault.severity}`}>
            <p class="fault-title">
              <b>{messages[fault.id]?.title ?? fault.id}</b>
            </p>
            <p class="fault-text">{faultText(fault, messages)}</p>
            <code class="command">{command}</code>
          </li>
        ))}
      </ul>
    </div>
  );
}
