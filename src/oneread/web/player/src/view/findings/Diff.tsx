// A repair that was made: what it changed, which faults went, which stay.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../strings";
import { Icon } from "../Icons";
import { type Repair, useSession } from "../state";

export function Diff({ repair }: { repair: Repair }): JSX.Element {
  const session = useSession();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [repair]);
  const messages = session.state.catalogue?.messages ?? {};
  const { before, diff, mended, remaining, exclusions } = repair;
  const done = before === null ? t.findings.unchanged : t.findings.repaired;
  const title = (id: string): string => messages[id]?.title ?? id;
  const names = (all: readonly { id: string }[]): string =>
    [...new Set(all.map((one) => title(one.id)))].join(", ");
  return (
    <div class="repair" role="group" aria-label={done} ref={box}>
      <div class="repair-head">
        <h3>
          {before === null ? null : <Icon name="check" />} {done}
        </h3>
        {before === null ? null : (
          <button type="button" class="button small" onClick={() => session.mending.undo()}>
            <Icon name="undo" /> {t.findings.undo}
          </button>
        )}
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
