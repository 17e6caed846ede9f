// The map of a text against itself.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { RECORDED } from "../lib/testing";
import { longestRepeats, specOf } from "./index";

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

test("what was copied is the token at its place", { skip: !Object.keys(RECORDED).length }, () => {
  const store = createStore();
  store.adopt(RECORDED.databases);
  const palette = { hues: {}, baselines: [], databases: ["context", "model", "statistics"] };
  const hue = { label: "", light: "", dark: "" };
  const spec = specOf(
    store,
    { ...palette, hues: { x: hue, target: hue } },
    (s) => s,
    () => "x",
  );
  const copied = spec.copied.flatMap((at, i) => (at >= 0 ? [[at, i]] : []));
  assert.ok(copied.length > 5);
  for (const [at, i] of copied) assert.deepEqual([spec.ids[at], at < i], [spec.ids[i], true]);
});
