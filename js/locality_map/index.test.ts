// Copied passages of a text.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { RECORDED } from "../lib/testing";
import { textOf } from "./passages";

test("a copied passage equals its source, and passages cover what was copied", {
  skip: !Object.keys(RECORDED).length,
}, () => {
  const store = createStore();
  store.adopt(RECORDED.databases);
  const { ids, passages } = textOf(store);
  assert.ok(passages.length > 2 && passages.every((p) => p.source && p.from < p.at));
  for (const { from, at, length } of passages)
    assert.deepEqual(ids.slice(from, from + length), ids.slice(at, at + length));
  const tokens = store.tokens.filter((t) => (store.ownDraft(t)?.position ?? null) !== null).length;
  assert.equal(
    passages.reduce((sum, p) => sum + p.length, 0),
    tokens,
  );
});
