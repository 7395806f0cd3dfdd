// All kernels of the gallery, in groups.
import type { JSX } from "preact";
import type { Catalogue } from "../engine";
import { t } from "../strings";
import { useSession } from "./state";
import { useStore } from "./store";

const GROUPS = ["tiled", "ours", "paper", "zoo", "other", "sequences"] as const;

interface Props {
  readonly label: string;
  readonly value: string;
  readonly onChoose: (key: string) => void;
  /** Entries that stand before the groups. */
  readonly children?: JSX.Element;
}

export function KernelSelect({ label, value, onChoose, children }: Props): JSX.Element {
  const session = useSession();
  const catalogue = useStore(session.store, (state) => state.catalogue);
  const kernels = catalogue?.kernels ?? [];
  const known = kernels.some((one) => one.key === value);
  return (
    <select
      class="field kernel-select"
      aria-label={label}
      value={value}
      onChange={(event) => onChoose(event.currentTarget.value)}
    >
      {children}
      {!known && !children ? <option value={value}>{value}</option> : null}
      {GROUPS.map((group) => (
        <Group key={group} group={group} keys={keysOf(catalogue, group)} />
      ))}
    </select>
  );
}

function keysOf(catalogue: Catalogue | null, group: (typeof GROUPS)[number]): string[] {
  if (group === "sequences") return (catalogue?.sequences ?? []).map((one) => one.key);
  return (catalogue?.kernels ?? []).filter((one) => one.group === group).map((one) => one.key);
}

function Group(props: { group: (typeof GROUPS)[number]; keys: readonly string[] }) {
  if (props.keys.length === 0) return null;
  return (
    <optgroup label={t.groups[props.group]}>
      {props.keys.map((key) => (
        <option key={key} value={key}>
          {key}
        </option>
      ))}
    </optgroup>
  );
}
