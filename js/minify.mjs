// What a module loses between esbuild and a browser: the indentation of its templates, and what
// terser removes beyond esbuild, 5 % of the packed page.
import { parse } from "meriyah";
import { minify_sync } from "terser";

/**
 * terser's options for a script or a module: new ones for each file, because it writes into them,
 * and without waiting, because it counts the letters of all files that it has at once. The second
 * pass removes what the first made unused.
 */
const terserOptions = (module) => ({
  module,
  ecma: 2020,
  compress: { passes: 2 },
  format: { ascii_only: true },
});

/** The [start, end] of every piece of text in the tagged templates (html, svg) of a module. */
function piecesOf(module) {
  const pieces = [];
  const visit = (node) => {
    if (Array.isArray(node)) {
      for (const each of node) visit(each);
      return;
    }
    if (node === null || typeof node !== "object") return;
    if (node.type === "TaggedTemplateExpression") {
      for (const { start, end } of node.quasi.quasis) pieces.push([start, end]);
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parse(module, { next: true, module: true, ranges: true }));
  return pieces.sort(([one], [other]) => one - other);
}

/** The module with one space for every line break and indentation within its tagged templates. */
export function joinLines(module) {
  let joined = "";
  let done = 0;
  for (const [start, end] of piecesOf(module)) {
    joined += module.slice(done, start);
    joined += module.slice(start, end).replace(/\s*\n\s*/g, " ");
    done = end;
  }
  return joined + module.slice(done);
}

/** A script or a module without what a browser does not need. */
export const shrunk = (text, isModule) =>
  minify_sync(joinLines(text), terserOptions(isModule)).code;

/** The esbuild plugin: shrink again what esbuild has minified. */
export const minified = {
  name: "minified",
  setup(build) {
    const { minify, format } = build.initialOptions;
    if (!minify) return;
    build.onEnd(({ outputFiles = [] }) => {
      for (const file of outputFiles.filter(({ path }) => path.endsWith(".js")))
        file.contents = new TextEncoder().encode(`${shrunk(file.text, format === "esm")}\n`);
    });
  },
};
