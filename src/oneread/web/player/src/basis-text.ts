// What of a launch nobody said, in words: what was read in the source, and what was guessed.
import type { Basis } from "./schema";

export const basisText = {
  title: "What nobody said of this launch",
  read: "Read in the source:",
  guessed: "Guessed:",
  line: (line: number) => `line ${line}`,
  first: (launches: number) => (launches > 1 ? `, the first launch of ${launches}` : ""),
  /** What the launch in the source says. */
  launched: ({ items }: Basis): string =>
    items
      .filter((one) => one.origin === "read")
      .map(({ name, value }) => `${name} ${value}`)
      .join(", "),
  /** What a macro, a constant or the kernel's bounds say. */
  named: ({ items }: Basis): string =>
    items
      .filter((one) => one.origin === "named")
      .map(({ name, value, source }) => `${name} ${value} (${source})`)
      .join(", "),
  /** Guesses: buffers of one size together, numbers where their name is another. */
  guesses: ({ items }: Basis): string => {
    const shape: string[] = [];
    const buffers = new Map<string, string[]>();
    const numbers: string[] = [];
    for (const { name, value, origin, source, role } of items) {
      if (origin !== "guessed") continue;
      if (source) shape.push(`${name} ${value} instead of ${source}`);
      else if (!role) shape.push(`${name} ${value}`);
      else if (role !== "scalar") buffers.set(value, [...(buffers.get(value) ?? []), name]);
      else if (name !== value) numbers.push(`${name}=${value}`);
    }
    const sized = [...buffers].map(([size, names]) => `${names.join(" ")} [${size}]`);
    return [...shape, ...sized, ...numbers].join(", ");
  },
};
