// Light or dark: as the system has it, or as somebody chose.
import { keep, kept } from "./kept";
import type { Theme } from "./state";

const NAME = "theme";

export function readTheme(): Theme {
  const found = kept(NAME);
  return found === "light" || found === "dark" ? found : "auto";
}

export function keepTheme(theme: Theme): void {
  keep(NAME, theme === "auto" ? null : theme);
}

/** Put a theme on the document. */
export function applyTheme(theme: Theme): void {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = theme === "auto" ? (dark ? "dark" : "light") : theme;
}
