// Bundle all views with their styles into hsd_viz/views/static/hsd-viz.js, the script that loads it
// into loader.js, and the frames of exported pages into page.css and page_lessons.css, with the
// script of lessons; the first boards of the game become first_boards.html.
// plotly's cartesian build becomes the module hsd_viz/figures/plotly.js.gz, which a page gets once.
//   node build.mjs            write the files
//   node build.mjs --check    write nothing; exit with 1 if a built file differs from its sources
//   node build.mjs --watch    rebuild after each change, readable and with source maps
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { build, context } from "esbuild";
import { firstBoards } from "./first_boards.mjs";
import { minified } from "./minify.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGE = join(HERE, "../hsd_viz");
const OUT = join(PACKAGE, "views/static");
/** Compressed, because it is the largest file and is transferred compressed. */
const LIBRARY = join(HERE, "../hsd_viz/figures/plotly.js.gz");
const mode = process.argv[2] ?? "";

/** Modules with styles as text: those of all views, and of the elements. */
const STYLES = { "hsd-viz:style": "hsd-viz.css", "hsd-viz:elements-style": "elements/style.css" };
const style = {
  name: "style",
  setup(found) {
    found.onResolve({ filter: /^hsd-viz:(elements-)?style$/ }, ({ path }) => ({
      path,
      namespace: "style",
    }));
    found.onLoad({ filter: /.*/, namespace: "style" }, async ({ path }) => {
      const options = {
        absWorkingDir: HERE,
        bundle: true,
        write: false,
        minify: true,
        logLevel: "warning",
        target: "es2022",
      };
      const { outputFiles } = await build({ ...options, entryPoints: [STYLES[path]], outdir: OUT });
      return { contents: `export default ${JSON.stringify(outputFiles[0].text)}`, loader: "js" };
    });
  },
};
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
  {
    ...shared,
    format: "esm",
    entryPoints: ["hsd-viz.ts", "loader.ts"],
    plugins: [style, minified],
  },
  {
    ...shared,
    format: "esm",
    entryPoints: [{ in: "elements/index.ts", out: "elements" }],
    plugins: [style, minified],
  },
  {
    ...shared,
    format: "iife",
    plugins: [minified],
    entryPoints: [
      { in: "page/page.css", out: "page" },
      { in: "page/lessons.css", out: "page_lessons" },
      { in: "page/lessons.ts", out: "page_lessons" },
      { in: "tab/worker.ts", out: "tab-worker" },
      { in: "site/index.ts", out: "site" },
      { in: "site/show_board.ts", out: "show_board" },
      { in: "site/style.css", out: "site" },
    ],
  },
];
const source = 'export { default } from "plotly.js-cartesian-dist-min";';
const library = {
  ...shared,
  format: "esm",
  stdin: { contents: source, resolveDir: HERE },
  legalComments: "inline",
};

mkdirSync(OUT, { recursive: true });
if (mode === "--watch") {
  for (const options of builds) await (await context(options)).watch();
  console.log(
    "Watching. Start the kernel with ANYWIDGET_HMR=1; run `npm run build` before a commit.",
  );
} else {
  const results = await Promise.all(builds.map((options) => build(options)));
  const built = new Map(
    results.flatMap((r) => r.outputFiles).map((f) => [basename(f.path), f.text]),
  );
  built.set("first_boards.html", await firstBoards(HERE, PACKAGE));
  const stored = new Map(
    readdirSync(OUT).map((name) => [name, readFileSync(join(OUT, name), "utf8")]),
  );
  const differing = [...new Set([...built.keys(), ...stored.keys()])].filter(
    (name) => built.get(name) !== stored.get(name),
  );
  const [{ contents }] = (await build({ ...library, minify: true, write: false })).outputFiles;
  const changed =
    !existsSync(LIBRARY) || Buffer.compare(gunzipSync(readFileSync(LIBRARY)), contents) !== 0;
  if (changed) differing.push(basename(LIBRARY));
  if (mode === "--check") {
    if (differing.length) {
      console.error(
        `Built files differ from js/: ${differing.join(", ")}. ` +
          "Run `npm run build` in js/ and commit the result.",
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
