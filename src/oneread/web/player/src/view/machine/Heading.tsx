// What stands over a machine: which kernel it is, how far it has come, and whether it is right.
import type { JSX } from "preact";
import { t } from "../../strings";
import { Icon } from "../Icons";
import { KernelSelect } from "../KernelSelect";
import type { Seen } from "../seen";
import { Stale } from "../Stale";
import { edited, isBroken, useSession } from "../state";
import { useStore } from "../store";

export function Heading({ slot, alone }: { slot: number; alone: boolean }): JSX.Element {
  const session = useSession();
  const one = useStore(session.store, (state) => state.slots[slot]);
  const live = session.engine.live;
  return (
    <header class="heading">
      <div class="heading-name">
        {live ? (
          <KernelSelect
            label={t.machine.kernelOf(slot)}
            value={one?.key ?? ""}
            onChoose={(key) => session.kernels.choose(slot, key)}
          />
        ) : (
          <h2 class="mono">{one?.key}</h2>
        )}
        {one && edited(one) ? <span class="tag">{t.code.edited}</span> : null}
        {!alone && live ? (
          <button
            type="button"
            class="button bare icon small"
            aria-label={t.machine.remove(one?.key ?? "")}
            title={t.machine.remove(one?.key ?? "")}
            onClick={() => session.kernels.remove(slot)}
          >
            <Icon name="close" />
          </button>
        ) : null}
      </div>
      <div class="heading-progress">
        <Bytes slot={slot} />
        <p>
          <Progress slot={slot} />
          <Verdict slot={slot} />
        </p>
      </div>
    </header>
  );
}

/** How much of the bytes of this kernel has moved, beside those of the others. */
function Bytes({ slot }: { slot: number }): JSX.Element | null {
  const session = useSession();
  const all = useStore(session.store, (state) => state.seen);
  const bytes = useStore(session.store, (state) => state.seen[slot]?.bytes ?? 0);
  const seen = all[slot];
  if (!seen) return null;
  const widest = Math.max(...all.map((one) => one?.allBytes ?? 0), 1);
  const width = `${(100 * seen.allBytes) / widest}%`;
  const share = String(seen.allBytes ? bytes / seen.allBytes : 0);
  return <div class="bytes" style={{ width, "--share": share }} aria-hidden="true" />;
}

function Progress({ slot }: { slot: number }): JSX.Element {
  const session = useSession();
  const seen = useStore(session.store, (state) => state.seen[slot] ?? null);
  const all = seen ? Math.max(1, ...seen.passes.map((one) => one.number)) : 1;
  const pass = useStore(session.store, () => (seen ? passAt(seen, all) : 0));
  const bytes = useStore(session.store, () => seen?.bytes ?? 0);
  if (!seen) return <span class="soft">{t.machine.nothing}</span>;
  return (
    <>
      <span>{t.machine.pass(pass, all)}</span>
      <span class="soft">{t.machine.bytes(bytes, seen.allBytes)}</span>
    </>
  );
}

/** What a run is to be taken for; it does not change with the playhead. */
function Verdict({ slot }: { slot: number }): JSX.Element | null {
  const session = useSession();
  const seen = useStore(session.store, (state) => state.seen[slot] ?? null);
  return seen ? (
    <>
      {seen.recording.reduced ? (
        <span class="tag" title={t.machine.reducedText}>
          {t.machine.reduced(seen.recording.blocks.length)}
        </span>
      ) : null}
      <Judged seen={seen} slot={slot} />
    </>
  ) : null;
}

function Judged({ seen, slot }: { seen: Seen; slot: number }): JSX.Element {
  const session = useSession();
  const stale = useStore(session.store, (state) => state.stale);
  const broken = useStore(session.store, (state) => isBroken(state, slot));
  if (broken) {
    return (
      <span class="tag error">
        <Icon name="error" /> {t.machine.refused}
      </span>
    );
  }
  if (stale) return <Stale />;
  const { faults } = seen.recording.run;
  const errors = faults.filter((one) => one.severity === "error");
  const warnings = faults.filter((one) => one.severity === "warning");
  const [worst] = [...errors, ...warnings];
  if (!worst) {
    return (
      <span class="tag right">
        <Icon name="check" /> {t.machine.right}
      </span>
    );
  }
  const { severity } = worst;
  const count = severity === "error" ? errors.length : warnings.length;
  return (
    <button
      type="button"
      class={`tag ${severity}`}
      onClick={(event) => {
        event.stopPropagation();
        session.show(slot, worst);
      }}
    >
      <Icon name={severity === "error" ? "error" : "warning"} /> {t.machine.faults(severity, count)}
    </button>
  );
}

/** The pass that the block in view is in, 0 before the first; beyond the last while it writes. */
function passAt(seen: Seen, all: number): number {
  const { at, block } = seen;
  let found = 0;
  for (const one of seen.passes) {
    if (one.block === block && one.first <= at) found = Math.max(found, one.number);
  }
  return Math.min(found, all);
}
