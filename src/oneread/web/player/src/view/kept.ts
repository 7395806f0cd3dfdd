// What somebody chose, beyond this visit. A browser that may keep nothing forgets it.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`oneread-${name}`);
  } catch {
    return null;
  }
}

/** Keep a choice; null to forget it. */
export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`oneread-${name}`);
    else localStorage.setItem(`oneread-${name}`, value);
  } catch {
    // The choice holds until the page is closed.
  }
}
