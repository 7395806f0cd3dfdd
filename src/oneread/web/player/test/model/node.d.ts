/** The little of Node that the tests use; the page itself knows nothing of it. */

declare module "node:child_process" {
  export function spawnSync(
    command: string,
    arguments_: readonly string[],
    options: { encoding: "utf8"; env: Readonly<Record<string, string | undefined>> },
  ): { status: number | null; error?: Error; stderr: string };
}

declare module "node:fs" {
  export function existsSync(path: string): boolean;
  export function mkdtempSync(prefix: string): string;
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function rmSync(path: string, options: { recursive: true }): void;
}

declare module "node:os" {
  export function tmpdir(): string;
}

declare module "node:path" {
  export const delimiter: string;
  export function join(...parts: string[]): string;
}

declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

interface ImportMeta {
  readonly dirname: string;
}
