// The page: its regions in the order in which they are read.
import type { JSX } from "preact";
import { t } from "../strings";
import { Bar } from "./Bar";
import { Chart } from "./chart/Chart";
import { Code } from "./code/Code";
import { Deck } from "./deck/Deck";
import { Findings } from "./findings/Findings";
import { Help } from "./Help";
import { Launch } from "./Launch";
import { Later } from "./Later";
import { Ledger } from "./ledger/Ledger";
import { Lesson } from "./lesson/Lesson";
import { Machine } from "./machine/Machine";
import { Said } from "./Said";
import { type Side, useSession } from "./state";
import { useStore } from "./store";
import { Tables } from "./tables/Tables";
import { Tour } from "./Tour";

const SIDES: readonly Side[] = ["code", "lesson"];

export function App(): JSX.Element {
  const session = useSession();
  const kernels = useStore(session.store, (state) => state.slots.length);
  const side = useStore(session.store, (state) => state.side);
  const ready = useStore(session.store, (state) => state.seen.some((one) => one !== null));
  return (
    <div class="page" data-kernels={kernels} data-ready={ready}>
      <a class="button skip" href="#machine">
        {t.skip}
      </a>
      <Bar />
      <Launch />
      <main class="main">
        <div class="side" data-side={side}>
          <SidePanel />
          <Findings />
        </div>
        <div class="stage">
          <Machine />
          <Tables />
          <Later frames={5}>
            <Chart />
          </Later>
          <Later frames={7}>
            <Ledger />
          </Later>
        </div>
      </main>
      <Deck />
      <Help />
      <Tour />
      <Said />
    </div>
  );
}

function SidePanel(): JSX.Element {
  const session = useSession();
  const side = useStore(session.store, (state) => state.side);
  return (
    <section class="card side-panel" aria-label={t.side.title}>
      <div class="tabs" role="tablist" aria-label={t.side.title}>
        {SIDES.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`tab-${one}`}
            aria-selected={one === side}
            aria-controls={`panel-${one}`}
            tabIndex={one === side ? 0 : -1}
            onClick={() => session.openSide(one)}
            onKeyDown={(event) => {
              if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
              const other = side === "code" ? "lesson" : "code";
              session.openSide(other);
              document.getElementById(`tab-${other}`)?.focus();
            }}
          >
            {t.side[one]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="panel-code" aria-labelledby="tab-code" hidden={side !== "code"}>
        <Code />
      </div>
      <div
        role="tabpanel"
        id="panel-lesson"
        aria-labelledby="tab-lesson"
        hidden={side !== "lesson"}
      >
        {side === "lesson" ? <Lesson /> : null}
      </div>
    </section>
  );
}
