// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests read modules as text.
// What the build does with templates: a space for a line break and its indentation, in them alone.
import assert from "node:assert/strict";
import { test } from "vitest";
import { joinLines, shrunk } from "./minify.mjs";

const JOINED = [
  ["a tagged template", "x = html`<p>\n    a\n  </p>`;", "x = html`<p> a </p>`;"],
  [
    "around its values",
    "x = svg`<g\n  class=${a}\n  >${b}\n</g>`;",
    "x = svg`<g class=${a} >${b} </g>`;",
  ],
  [
    "a template in a value of another",
    "x = html`<p>\n${y.map((z) => html`<b>\n${z}</b>`)}</p>`;",
    "x = html`<p> ${y.map((z) => html`<b> ${z}</b>`)}</p>`;",
  ],
];

for (const [what, before, after] of JOINED) {
  test(`line breaks become a space: ${what}`, () => assert.equal(joinLines(before), after));
}

for (const kept of [
  "x = `a\n  b`;",
  'x = "a\\n  b";',
  "x = html`a  b`;",
  "x = f(`a\n${html`b`}`);",
  "// a\n\nx = 1;",
]) {
  test(`nothing else changes: ${JSON.stringify(kept)}`, () => assert.equal(joinLines(kept), kept));
}

test("a file does not depend on those before it", () => {
  const script = "var unused = 1; function other() { return 2; } console.log(1);";
  const alone = shrunk(script, false);
  assert.match(alone, /unused/, "a script shares its names with others");
  assert.doesNotMatch(shrunk(script, true), /unused/);
  assert.equal(shrunk(script, false), alone);
});
