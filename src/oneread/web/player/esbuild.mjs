// Writes the page into ../static: one script, one style sheet, one document. Takes nothing from
// the network; what it bundles was installed by `npm ci`.
import { build, context } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "static");

const options = {
  absWorkingDir: here,
  entryPoints: { player: "src/main.ts" },
  bundle: true,
  // A classic script at the end of the body: the same text also works inline, opened from a file.
  format: "iife",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "none",
  charset: "utf8",
  outdir: out,
  logLevel: "info",
};

await mkdir(out, { recursive: true });
await copyFile(join(here, "index.html"), join(out, "index.html"));
if (process.argv.includes("--watch")) {
  const watching = await context(options);
  await watching.watch();
} else {
  await build(options);
}
