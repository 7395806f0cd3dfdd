// Colours that canvases draw with: the tokens of the style sheet, and one ramp of even steps of
// lightness for each band, so that a value is as dark as it is large whatever its band.

export type Band = "hbm" | "sram" | "register";

/** Tokens by their names in the style sheet. */
const TOKENS = {
  surface: "--surface",
  paper: "--paper",
  ink: "--ink",
  soft: "--ink-soft",
  line: "--line",
  firm: "--line-firm",
  hbm: "--hbm",
  hbmWash: "--hbm-wash",
  hbmLine: "--hbm-line",
  sram: "--sram",
  sramWash: "--sram-wash",
  sramLine: "--sram-line",
  register: "--register",
  registerWash: "--register-wash",
  registerLine: "--register-line",
  activity: "--activity",
  activityMark: "--activity-mark",
  activityWash: "--activity-wash",
  fault: "--fault",
  faultWash: "--fault-wash",
  none: "--cell-none",
  sans: "--sans",
  mono: "--mono",
} as const;

export type Palette = Record<keyof typeof TOKENS, string> & {
  /** 64 colours of each band, the lowest value first. */
  readonly ramps: Record<Band, readonly string[]>;
  /** From which step of a ramp on text on it is light (in the dark theme: dark). */
  readonly turn: number;
  /** What text on a low, and on a high value is drawn with. */
  readonly text: readonly [string, string];
  /** Pixels of a rem. */
  readonly rem: number;
};

const HUES: Record<Band, number> = { hbm: 252, sram: 185, register: 292 };
const STEPS = 64;

let cached: { theme: string | undefined; palette: Palette } | null = null;

/** Forget the colours whenever they, or the size of a rem, may have become others. */
export function watchColours(): void {
  const forget = (): void => {
    cached = null;
  };
  addEventListener("resize", forget);
  matchMedia("(forced-colors: active)").addEventListener("change", forget);
}

/** Read the colours that hold now. */
export function palette(): Palette {
  const root = document.documentElement;
  const theme = root.dataset["theme"];
  if (cached !== null && cached.theme === theme) return cached.palette;
  const style = getComputedStyle(root);
  const read = Object.fromEntries(
    Object.entries(TOKENS).map(([name, token]) => [name, style.getPropertyValue(token).trim()]),
  ) as Record<keyof typeof TOKENS, string>;
  const dark = theme === "dark";
  const ramps = {
    hbm: ramp(HUES.hbm, dark),
    sram: ramp(HUES.sram, dark),
    register: ramp(HUES.register, dark),
  };
  const made: Palette = {
    ...read,
    ramps,
    turn: dark ? 30 : 34,
    text: dark ? ["#f2f3f5", "#0b0d10"] : ["#1b1e23", "#ffffff"],
    rem: parseFloat(style.fontSize),
  };
  cached = { theme, palette: made };
  return made;
}

/** Return the step of a ramp for a value between two others. */
export function shade(value: number, low: number, high: number): number {
  if (high <= low) return STEPS >> 1;
  const part = (value - low) / (high - low);
  return Math.max(0, Math.min(STEPS - 1, Math.round(part * (STEPS - 1))));
}

function ramp(hue: number, dark: boolean): string[] {
  const [low, high] = dark ? [0.27, 0.88] : [0.95, 0.4];
  return Array.from({ length: STEPS }, (_, step) => {
    const part = step / (STEPS - 1);
    const chroma = dark ? 0.03 + 0.085 * part : 0.018 + 0.115 * part;
    return fromOklch(low! + (high! - low!) * part, chroma, hue);
  });
}

/** Return a colour of the OKLCH space in sRGB (Ottosson's matrices). */
function fromOklch(lightness: number, chroma: number, hue: number): string {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const channels = linear.map((one) => {
    const clear = Math.max(0, Math.min(1, one));
    const gamma = clear <= 0.0031308 ? 12.92 * clear : 1.055 * clear ** (1 / 2.4) - 0.055;
    return Math.round(gamma * 255);
  });
  return `rgb(${channels.join(" ")})`;
}
