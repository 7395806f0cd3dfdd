// Icons as paths: no font has to have them. Each is drawn on 16 x 16 with a line of 1.5.
import type { JSX } from "preact";

const PATHS = {
  play: "M5 3.2v9.6L12.5 8z",
  pause: "M5.5 3v10M10.5 3v10",
  back: "M10.5 3.5 6 8l4.5 4.5",
  forward: "M5.5 3.5 10 8l-4.5 4.5",
  first: "M11 3.5 6.5 8l4.5 4.5M4 3.5v9",
  last: "M5 3.5 9.5 8 5 12.5M12 3.5v9",
  link: "M6.8 9.2 9.2 6.8M7.4 4.6l1.4-1.4a2.8 2.8 0 0 1 4 4l-1.4 1.4M8.6 11.4l-1.4 1.4a2.8 2.8 0 0 1-4-4l1.4-1.4",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z",
  help: "M6 6.2a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.4M8 11.8v.1M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8",
  plus: "M8 3.5v9M3.5 8h9",
  minus: "M3.5 8h9",
  whole: "M2.5 4v8M13.5 4v8M4.8 8h6.4M6.4 6.2 4.6 8l1.8 1.8M9.6 6.2 11.4 8l-1.8 1.8",
  close: "M4 4l8 8M12 4l-8 8",
  error: "M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4zM8 5v3.6M8 11v.1",
  warning: "M8 2.2 14.2 13H1.8zM8 6.4v3.2M8 11.4v.1",
  note: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 7.4v3.8M8 4.9V5",
  check: "M3.2 8.4 6.6 12l6.2-7.6",
  eye: "M1.6 8S4 3.8 8 3.8 14.4 8 14.4 8 12 12.2 8 12.2 1.6 8 1.6 8M8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6",
  mend: "M3 13l6-6M8 4.4l.6-1.6M11.6 8l1.6.6M10.8 5.2l2-2M9 7l1.4-1.4",
  shuffle:
    "M2 4.5h2.4l5.2 7H13M2 11.5h2.4l1.4-1.9M8.4 6.1l1.2-1.6H13M11.4 2.9 13 4.5l-1.6 1.6M11.4 9.9l1.6 1.6-1.6 1.6",
  table: "M2.2 3.2h11.6v9.6H2.2zM2.2 6.4h11.6M2.2 9.6h11.6M6.6 3.2v9.6",
  tour: "M3.4 14V2.4M3.4 3h8.8l-2 2.8 2 2.8H3.4",
  sliders: "M2.5 5h6M12 5h1.5M2.5 11H4M7.5 11h6M10.2 3.2v3.6M5.7 9.2v3.6",
  undo: "M6 3.5 3 6.5l3 3M3.2 6.5h6.3a3.4 3.4 0 0 1 0 6.8H6.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill={name === "play" ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
