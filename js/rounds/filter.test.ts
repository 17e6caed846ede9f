// Which rounds a filter keeps, and their sums.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createGroup } from "../lib/group";
import { createStore } from "../lib/run";
import { draft, RECORDED, SMALL, small, snapshot } from "../lib/testing";
import { between, EVERY, matching, sumsOf } from "./filter";

const store = createStore();
store.adopt(small());
const found = (conditions) => {
  const ids = matching(store, { ...EVERY, ...conditions });
  return ids && [...ids];
};

test("a filter without conditions keeps all rounds, and names none", () => {
  assert.equal(matching(store, EVERY), null);
});

test("conditions on the draft token are met by one token together", () => {
  assert.deepEqual(found({ outcome: "plain" }), [3]);
  assert.deepEqual(found({ verdict: "rejected" }), [2]);
  assert.deepEqual(found({ verdict: "rejected", p: 0.3 }), [2]);
  assert.deepEqual(found({ verdict: "rejected", p: 0.6 }), []);
  assert.deepEqual(found({ source: "nano", outcome: "plain" }), []);
  assert.deepEqual(found({ source: "small" }), []);
  const mixed = createStore();
  const unknown = { ...draft(3, 0, 1, "rejected"), p: null };
  mixed.adopt(snapshot({ ...SMALL, drafts: [...SMALL.drafts, unknown] }));
  assert.deepEqual([...matching(mixed, { ...EVERY, verdict: "rejected", p: 0.1 })], [2], "an unknown p meets no bound");
});

test("sums are of target rounds and their tokens", () => {
  const whole = sumsOf(store, null);
  assert.deepEqual(
    [whole.rounds, whole.tokens, [...whole.sources]],
    [
      2,
      3,
      [
        ["nano", 1],
        ["target", 2],
      ],
    ],
  );
  const one = sumsOf(store, new Set([3]));
  assert.deepEqual([one.rounds, one.tokens, one.ns], [1, 1, 4_000_000]);
  assert.deepEqual(between(store.order, 1, 0), [2, 3]);
});

test("the parts of a recorded run sum to it", { skip: !Object.keys(RECORDED).length }, () => {
  for (const data of Object.values(RECORDED)) {
    const run = createStore();
    run.adopt(data as never);
    const kept = matching(run, { ...EVERY, verdict: "rejected" });
    const rest = new Set([...run.order.keys()].filter((id) => !kept.has(id)));
    const [whole, a, b] = [null, kept, rest].map((ids) => sumsOf(run, ids));
    for (const name of ["rounds", "tokens", "drafted", "accepted", "ns"]) assert.equal(a[name] + b[name], whole[name]);
  }
});

test("keys go by the rounds that the filter keeps; another run forgets filter and selection", () => {
  const group = createGroup();
  group.store.adopt(small());
  group.match(new Set([3]));
  group.go({ step: 0 });
  group.round(1);
  assert.equal(group.cursor.round, 3);
  group.round(-1);
  assert.equal(group.cursor.round, 3, "no earlier round is kept");
  group.select([2, 77]);
  assert.deepEqual(group.cursor.selected, [2], "unknown rounds are not selected");
  group.store.adopt({ ...small(), run: "other" } as never);
  assert.deepEqual([group.cursor.selected, group.cursor.matched], [[], null]);
});
