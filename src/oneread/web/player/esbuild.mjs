// Writes the page into ../static: one script, one style sheet, one document. Takes nothing from
// the network; what it bundles was installed by `npm ci`.
import { build, context } from "esbuild";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "static");

// The editor puts its rules into a style element, which the policy of an export forbids: it names its
// one style sheet by hash. Sheets that a script adopts are allowed, and the editor adopts them in
// shadow trees; this lets it do so in a document.
const adopted = {
  name: "adopted-style-sheets",
  setup({ onLoad }) {
    onLoad({ filter: /style-mod\.(js|cjs)$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const parts = text.split("!root.head && root.adoptedStyleSheets");
      if (parts.length !== 2) throw new Error(`${path} no longer chooses where its rules go`);
      return { contents: parts.join("root.adoptedStyleSheets"), loader: "js" };
    });
  },
};

const options = {
  absWorkingDir: here,
  entryPoints: { player: "src/main.ts" },
  bundle: true,
  // A classic script at the end of the body: the same text also works inline, opened from a file.
  format: "iife",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  plugins: [adopted],
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
