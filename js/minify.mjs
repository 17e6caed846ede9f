// Further minification after esbuild: removes the indentation of templates, and runs terser, which
// saves 5 % of the compressed page.
import { parse } from "meriyah";
import { minify_sync } from "terser";

/**
 * Return terser's options for a script or a module. Each file needs a new object, because terser
 * mutates it, and files are minified one at a time, because terser shares letter counts between
 * concurrent calls. Later passes remove code that the first one made unused; that a getter of the
 * page has no effect besides its value lets them remove more. Methods of objects that do not use
 * `this` become arrow functions.
 */
const terserOptions = (module) => ({
  module,
  ecma: 2020,
  compress: { passes: 3, pure_getters: true, unsafe_arrows: true },
  format: { ascii_only: true },
});

/** Return the [start, end] of every text in the tagged templates (html, svg) of a module. */
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

/** Replace each line break with its indentation in tagged templates of a module by one space. */
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

/** Minify a script or a module. */
export const shrunk = (text, isModule) =>
  minify_sync(joinLines(text), terserOptions(isModule)).code;

/** The esbuild plugin that minifies the output of esbuild further. */
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
