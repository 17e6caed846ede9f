// @vitest-environment happy-dom
// A long page is folded by its headings.
import assert from "node:assert/strict";
import { test } from "vitest";
import { foldSections } from "./sections";

test("all sections but the first are folded, and nothing is lost", () => {
  const main = document.createElement("main");
  main.innerHTML = "<h1>t</h1><p>0</p><h2>a</h2><p>1</p><h2>b</h2><p>2</p><div>3</div><h2>c</h2>";
  const text = main.textContent;
  foldSections(main);
  assert.equal(main.textContent, text);
  const folded = [...main.querySelectorAll("details")];
  assert.deepEqual(
    folded.map((one) => [
      one.querySelector("summary h2")?.textContent,
      one.children.length,
      one.open,
    ]),
    [
      ["b", 3, false],
      ["c", 1, false],
    ],
  );
});
