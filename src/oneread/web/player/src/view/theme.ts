// Light or dark: as the system has it, or as somebody chose.
import type { Theme } from "./state";

const NAME = "oneread-theme";

export function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(NAME);
    return kept === "light" || kept === "dark" ? kept : "auto";
  } catch {
    return "auto"; // a page that may keep nothing follows the system
  }
}

export function keepTheme(theme: Theme): void {
  try {
    if (theme === "auto") localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, theme);
  } catch {
    // The choice holds until the page is closed.
  }
}

/** Put a theme on the document; `change` is called whenever it is another one. */
export function applyTheme(theme: Theme): void {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = theme === "auto" ? (dark ? "dark" : "light") : theme;
}
