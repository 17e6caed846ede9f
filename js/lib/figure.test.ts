// What figures share: the parts that need no page.
import assert from "node:assert/strict";
import { test } from "vitest";
import { cell, entry, focusable, hued } from "./dom";
import { pathOf } from "./figure";

/** As much of a document as making elements needs. */
class Node {
  constructor(tag) {
    Object.assign(this, {
      tagName: tag.toUpperCase(),
      className: "",
      textContent: "",
      children: [],
      dataset: {},
      attributes: {},
      tabIndex: -1,
      styles: {},
    });
    this.style = {
      setProperty: (name, value) => {
        this.styles[name] = value;
      },
    };
    this.classList = {
      add: (name) => {
        this.className = `${this.className} ${name}`.trim();
      },
    };
  }
  append(...nodes) {
    this.children.push(...nodes);
  }
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
}
globalThis.document = { createElement: (tag) => new Node(tag) } as any;

test("a path goes to its first point and on through the others, to a tenth of a pixel", () => {
  assert.equal(
    pathOf([
      [0, 1.26],
      [2, 3],
      [4.04, 5],
    ]),
    "M0.0 1.3L2.0 3.0L4.0 5.0",
  );
  assert.equal(pathOf([]), "");
});

test("a legend's line holds its sample and its words", () => {
  const key = new Node("span");
  const item = entry(key, "what it means");
  assert.equal(item.tagName, "LI");
  assert.equal(item.children[0], key);
  assert.equal(item.children[1].textContent, "what it means");
});

test("a colour comes in both themes, and a source's own tokens are marked", () => {
  const hue = { light: "#111", dark: "#eee" };
  assert.deepEqual(hued(new Node("i"), hue).styles, { "--light": "#111", "--dark": "#eee" });
  assert.equal(hued(new Node("i"), hue).className, "hsd-hue");
  assert.equal(hued(new Node("i"), { ...hue, own: true }).className, "hsd-hue hsd-own");
});

test("a cell has a role, and a name for narrow pages only where one is given", () => {
  const named = cell("cell", "hsd-num", "3", "predicted");
  assert.deepEqual(
    [named.attributes.role, named.className, named.textContent, named.dataset.what],
    ["cell", "hsd-num", "3", "predicted"],
  );
  assert.ok(!("what" in cell("row").dataset));
});

test("what takes the focus keeps the host's shortcuts away", () => {
  const node = focusable(new Node("div") as any);
  assert.equal(node.tabIndex, 0);
  assert.equal(node.dataset.lmSuppressShortcuts, "true");
});
