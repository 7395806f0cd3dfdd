// A row of buttons that is wider than its room: the one that is pressed is in sight.
import type { MutableRef } from "preact/hooks";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Return a reference for the row; it is scrolled, and never the page, where another is pressed. */
export function usePressedInSight(pressed: number): MutableRef<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const row = box.current;
    const button = row?.querySelector<HTMLElement>('[aria-pressed="true"]');
    if (!row || !button) return;
    const [outer, inner] = [row.getBoundingClientRect(), button.getBoundingClientRect()];
    if (inner.left < outer.left) row.scrollLeft -= outer.left - inner.left;
    else if (inner.right > outer.right) row.scrollLeft += inner.right - outer.right;
  }, [pressed]);
  return box;
}
