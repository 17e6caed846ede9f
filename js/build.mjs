// Bundle the views into hsd_viz/views/static/: NAME/index.ts and NAME/index.css of each folder become NAME.js and NAME.css, and
// page/run, page/versus and page/lessons the scripts and styles of exported pages.
// plotly's cartesian build becomes the module hsd_viz/figures/plotly.js.gz, which a page gets once.
//   node build.mjs            write the files
//   node build.mjs --check    write nothing; exit with 1 if a built file differs from its sources
//   node build.mjs --watch    rebuild after each change, readable and with source maps
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { build, context } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "../hsd_viz/views/static");
/** Packed, because it is the largest file and is sent packed. */
const LIBRARY = join(HERE, "../hsd_viz/figures/plotly.js.gz");
const mode = process.argv[2] ?? "";

/** The script and the style of an entry, as far as they exist. */
const entries = (path, out) =>
  ["ts", "css"].map((kind) => ({ in: join(HERE, `${path}.${kind}`), out })).filter((entry) => existsSync(entry.in));
const folders = readdirSync(HERE, { withFileTypes: true }).filter((f) => f.isDirectory());
const shared = {
  absWorkingDir: HERE,
  bundle: true,
  legalComments: "none",
  outdir: OUT,
  target: "es2022",
  logLevel: "warning",
  ...(mode === "--watch" ? { sourcemap: "inline" } : { minify: true, write: false }),
};
const builds = [
  // A view is a module, which anywidget imports; the script of a page runs in its own scope.
  // Hosts import a view's text on its own, so lit-html (7 kB) is in each view that draws with it. A shared copy would need a
  // message from the kernel before the first drawing, and would be missing in saved notebooks.
  { ...shared, format: "esm", entryPoints: folders.flatMap(({ name }) => entries(`${name}/index`, name)) },
  {
    ...shared,
    format: "iife",
    entryPoints: ["run", "versus", "lessons"].flatMap((name) => entries(`page/${name}`, `page_${name}`)),
  },
];
const source = 'export { default } from "plotly.js-cartesian-dist-min";';
const library = { ...shared, format: "esm", stdin: { contents: source, resolveDir: HERE }, legalComments: "inline" };

mkdirSync(OUT, { recursive: true });
if (mode === "--watch") {
  for (const options of builds) await (await context(options)).watch();
  console.log("Watching. Start the kernel with ANYWIDGET_HMR=1; run `npm run build` before a commit.");
} else {
  const results = await Promise.all(builds.map((options) => build(options)));
  const built = new Map(results.flatMap((r) => r.outputFiles).map((f) => [basename(f.path), f.text]));
  const stored = new Map(readdirSync(OUT).map((name) => [name, readFileSync(join(OUT, name), "utf8")]));
  const differing = [...new Set([...built.keys(), ...stored.keys()])].filter(
    (name) => built.get(name) !== stored.get(name),
  );
  const [{ contents }] = (await build({ ...library, minify: true, write: false })).outputFiles;
  const changed = !existsSync(LIBRARY) || Buffer.compare(gunzipSync(readFileSync(LIBRARY)), contents) !== 0;
  if (changed) differing.push(basename(LIBRARY));
  if (mode === "--check") {
    if (differing.length) {
      console.error(
        `Built files differ from js/: ${differing.join(", ")}. Run \`npm run build\` in js/ and commit the result.`,
      );
      process.exitCode = 1;
    }
  } else {
    if (changed) writeFileSync(LIBRARY, gzipSync(contents, { level: 9 }));
    for (const name of differing.filter((each) => each !== basename(LIBRARY))) {
      if (built.has(name)) writeFileSync(join(OUT, name), built.get(name));
      else rmSync(join(OUT, name));
    }
    const size = [...built.values()].reduce((sum, text) => sum + text.length, 0);
    console.log(`${built.size} files, ${(size / 1000).toFixed(0)} kB, ${differing.length} changed`);
  }
}
