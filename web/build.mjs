// Bundles the dashboard into dist/ (or the folder that is given): node build.mjs [FOLDER]. The same sources and
// the same package-lock.json give the same bytes.
import { cpSync, mkdirSync } from "node:fs";
import { build } from "esbuild";

const folder = process.argv[2] ?? "dist";
mkdirSync(folder, { recursive: true });
await build({
  entryPoints: { dashboard: "src/main.tsx" },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "inline",
  logLevel: "warning",
});
for (const name of ["index.html", "dashboard.svg"]) cpSync(`src/${name}`, `${folder}/${name}`);
