// What figures share: the parts that need no page.
import assert from "node:assert/strict";
import { test } from "vitest";
import { entry, hued, suppressShortcuts } from "./dom";

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

test("what takes the focus keeps the host's shortcuts away", () => {
  const el = Object.assign(new EventTarget(), { dataset: {} as DOMStringMap }) as HTMLElement;
  suppressShortcuts(el);
  assert.equal(el.dataset.lmSuppressShortcuts, undefined);
  el.dispatchEvent(new Event("focusin"));
  assert.equal(el.dataset.lmSuppressShortcuts, "true");
});
