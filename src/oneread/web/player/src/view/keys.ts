// The keyboard. Nothing happens while somebody types, and all of it can be switched off.
import type { Session } from "./session";

/** What each key does, in the order in which the help lists them. */
export const KEYS = [
  ["Space", "play"],
  ["← →", "step"],
  ["Shift ← →", "tile"],
  ["Ctrl/Alt ← →", "pass"],
  ["Home End", "ends"],
  ["↑ ↓", "warp"],
  ["J K", "lane"],
  [", .", "speed"],
  ["+ - 0", "zoom"],
  ["L", "line"],
  ["F", "finding"],
  ["C", "compare"],
  ["1 2 3", "focus"],
  ["G", "goTo"],
  ["E", "editor"],
  ["T", "tables"],
  ["Ctrl Enter", "run"],
  ["Esc", "leave"],
  ["?", "help"],
] as const;

export type KeyAction = (typeof KEYS)[number][1];

export function listenToKeys(session: Session): () => void {
  const listener = (event: KeyboardEvent): void => {
    if (event.defaultPrevented || !session.state.shortcuts) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      void session.run();
      event.preventDefault();
      return;
    }
    if (typing(event.target) || session.state.dialog) return;
    if (act(session, event)) event.preventDefault();
  };
  document.addEventListener("keydown", listener);
  return () => document.removeEventListener("keydown", listener);
}

/** Whether keys belong to what has the focus. */
function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable) return true;
  const input = target.closest("input, textarea, select");
  return input !== null && !(input instanceof HTMLInputElement && input.type === "radio");
}

function act(session: Session, event: KeyboardEvent): boolean {
  const { key, shiftKey, ctrlKey, altKey, metaKey, target } = event;
  const { playback, store, state } = session;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    if (metaKey || target instanceof HTMLInputElement || isTab(target)) return false;
    const direction = key === "ArrowRight" ? 1 : -1;
    playback.pause();
    if (ctrlKey || altKey) playback.move(direction, "pass");
    else playback.move(direction, shiftKey ? "tile" : undefined);
    return true;
  }
  if (ctrlKey || altKey || metaKey) return false;
  const onButton =
    target instanceof HTMLElement && target.closest("button, summary, a, [role=button]");
  const acts: Record<string, () => void> = {
    Home: () => playback.first(),
    End: () => playback.last(),
    ArrowUp: () => session.followWarp(-1),
    ArrowDown: () => session.followWarp(1),
    j: () => session.pickLane(-1),
    k: () => session.pickLane(1),
    ",": () => playback.faster(-1),
    ".": () => playback.faster(1),
    "+": () => playback.zoom(0.5),
    "=": () => playback.zoom(0.5),
    "-": () => playback.zoom(2),
    "0": () => playback.zoom(null),
    l: () => void playback.visit(state.cursor),
    L: () => void playback.visit(state.cursor, true),
    f: () => session.nextFinding(),
    c: () => session.kernels.compare(),
    g: () => document.getElementById("go-to")?.focus(),
    e: () => session.openEditor(),
    t: () => store.set({ tables: !state.tables }),
    "?": () => store.set({ dialog: "help" }),
    "1": () => session.focus(0),
    "2": () => session.focus(1),
    "3": () => session.focus(2),
  };
  if (!onButton) acts[" "] = () => playback.toggle();
  const found = acts[key];
  found?.();
  return found !== undefined;
}

function isTab(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.getAttribute("role") === "tab";
}
