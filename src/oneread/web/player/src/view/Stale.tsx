// A word over what is of the run before, since what is asked for now was refused.
import type { JSX } from "preact";
import { t } from "../strings";
import { useSession } from "./state";
import { useStore } from "./store";

export function Stale(): JSX.Element | null {
  const stale = useStore(useSession().store, (state) => state.stale);
  return stale ? <span class="tag stale">{t.stale}</span> : null;
}
