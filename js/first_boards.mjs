// Draws the first boards of a site in a document of happy-dom, with the scripts of the page and the
// recorded texts of the package.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { build } from "esbuild";
import { Window } from "happy-dom";
import { minified } from "./minify.mjs";

/** What the game uses of a browser. */
const GLOBALS = [
  "document",
  "getComputedStyle",
  "matchMedia",
  "MutationObserver",
  "requestAnimationFrame",
  "cancelAnimationFrame",
  "ResizeObserver",
];
const LANGUAGE_FILE = /^game\.(.+)\.json$/;

const jsonOf = (path) => JSON.parse(readFileSync(path, "utf8"));

/** Return the texts of the game, its languages and its recordings, from the package's folder. */
function contentOf(folder) {
  const views = join(folder, "views");
  const { games, plays } = jsonOf(join(views, "page.json")).about;
  const languages = {};
  for (const file of readdirSync(views).sort()) {
    const tag = LANGUAGE_FILE.exec(file)?.[1];
    if (tag) languages[tag] = jsonOf(join(views, file));
  }
  const traceOf = (name) => {
    const packed = readFileSync(join(folder, "traces", "game", name, "plain.json.gz"));
    return JSON.parse(gunzipSync(packed));
  };
  return { games, plays, languages, traceOf };
}

/** Return the templates of the first boards as HTML. */
export async function firstBoards(here, folder) {
  const { outputFiles } = await build({
    absWorkingDir: here,
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: "es2022",
    entryPoints: ["site/first_board.ts"],
    outdir: here,
    plugins: [minified],
  });
  const window = new Window();
  for (const name of GLOBALS) {
    const value = window[name];
    const isMethod = typeof value === "function" && !value.prototype;
    globalThis[name] = isMethod ? value.bind(window) : value;
  }
  const setLanguage = (tag) =>
    Object.defineProperty(globalThis, "navigator", {
      value: { languages: [tag] },
      configurable: true,
    });
  const script = Buffer.from(outputFiles[0].contents).toString("base64");
  try {
    const module = await import(`data:text/javascript;base64,${script}`);
    return await module.firstBoards(contentOf(folder), setLanguage);
  } finally {
    await window.happyDOM.close();
  }
}
