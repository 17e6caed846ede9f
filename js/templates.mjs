// The page's templates are written over many lines; a browser needs none of their indentation.
import { parse } from "meriyah";

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

/** The esbuild plugin: templates of minified modules lose their line breaks. */
export const templates = {
  name: "templates",
  setup(found) {
    if (!found.initialOptions.minify) return;
    found.onEnd(({ outputFiles = [] }) => {
      for (const file of outputFiles.filter(({ path }) => path.endsWith(".js"))) {
        file.contents = new TextEncoder().encode(joinLines(file.text));
      }
    });
  },
};
