// A repair before it is taken: what changes, which faults go, which stay.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../strings";
import { Icon } from "../Icons";
import { type Proposal, useSession } from "../state";

export function Diff({ proposal }: { proposal: Proposal }): JSX.Element {
  const session = useSession();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [proposal]);
  const messages = session.state.catalogue?.messages ?? {};
  const { diff, mended, remaining, exclusions } = proposal;
  const title = (id: string): string => messages[id]?.title ?? id;
  const names = (all: readonly { id: string }[]): string =>
    [...new Set(all.map((one) => title(one.id)))].join(", ");
  return (
    <div class="proposal" role="group" aria-label={t.findings.proposal} ref={box}>
      <h3>{t.findings.proposal}</h3>
      <div class="actions">
        <button
          type="button"
          class="button first"
          disabled={!diff}
          onClick={() => session.mending.take()}
        >
          <Icon name="check" /> {t.findings.take}
        </button>
        <button type="button" class="button" onClick={() => session.store.set({ proposal: null })}>
          {t.findings.leave}
        </button>
      </div>
      {mended.length > 0 ? <p>{t.findings.mends(names(mended))}</p> : null}
      {remaining.length > 0 ? (
        <p class="soft">{t.findings.remains(names(remaining))}</p>
      ) : (
        <p>{t.findings.remainsNothing}</p>
      )}
      <Lines diff={diff} />
      {exclusions.map((one, index) => (
        <div key={index}>
          <p>{t.findings.rulesOut(names([one.fault]), one.why)}</p>
          <Lines diff={one.diff} />
        </div>
      ))}
    </div>
  );
}

function Lines({ diff }: { diff: string }): JSX.Element | null {
  const lines = diff.split("\n").filter((line) => line && !/^(---|\+\+\+) /.test(line));
  if (lines.length === 0) return null;
  return (
    <pre class="diff" tabIndex={0}>
      {lines.map((line, index) => (
        <span key={index} class={kindOf(line)}>
          {line.startsWith("@@") ? t.findings.hunk(line) : line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function kindOf(line: string): string {
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "same";
}
