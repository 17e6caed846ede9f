// Repeats and copied passages of a text.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { RECORDED } from "../lib/testing";
import { longestRepeats, shownOf, textOf } from "./passages";

/** The definition: the longest run that ends at i and at an earlier j, the latest j on ties. */
const slow = (ids) =>
  ids.map((_, i) => {
    let [at, most] = [-1, 0];
    for (let j = 0; j < i; j++) {
      let n = 0;
      while (n < 32 && j - n >= 0 && ids[j - n] === ids[i - n]) n++;
      if (n && n >= most) [at, most] = [j, n];
    }
    return [at, most];
  });

test("repeats are the longest and latest", () => {
  for (const ids of [[], [5], [1, 2, 1, 2, 3, 1, 2, 3, 9], Array(50).fill(4), [0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0]])
    assert.deepEqual(longestRepeats(ids), slow(ids));
});

test("a copied passage equals its source, and passages cover what was copied", {
  skip: !Object.keys(RECORDED).length,
}, () => {
  const store = createStore();
  store.adopt(RECORDED.databases);
  const text = textOf(store);
  const copied = shownOf(text, 99);
  assert.ok(copied.length > 2 && copied.every((p) => p.source && p.from < p.at));
  for (const { from, at, length } of text.passages)
    assert.deepEqual(text.ids.slice(from, from + length), text.ids.slice(at, at + length));
  const tokens = store.tokens.filter((t) => (store.ownDraft(t)?.position ?? null) !== null).length;
  assert.equal(
    copied.reduce((sum, p) => sum + p.length, 0),
    tokens,
  );
  assert.ok(shownOf(text, 1).length >= copied.length);
});
