// A run continued from a place of it: what is common, and the recorded chances.
import assert from "node:assert/strict";
import { test } from "vitest";
import { storeOf } from "../lib/run";
import { small } from "../lib/testing";
import { canBranch, chanceOf, likelihoodOf, prefixOf, remaining } from "./fork";

const run = () => {
  const data: any = small();
  data.tokens.text = ["a", "b", "c"];
  data.tokens.p = [0.5, 0.2, null];
  data.tokens.top = [
    [
      [1, 0.5],
      [7, 0.25],
    ],
    null,
    null,
  ];
  return storeOf({ ...data, pieces: { 7: "x" }, meta: { max_new_tokens: 9 } });
};

test("the text before the place is kept, and continued with the other token", () => {
  assert.equal(prefixOf(run(), 2, "x"), "pabx");
  assert.equal(prefixOf(run(), 0, "x"), "px");
});

test("a branch has the tokens that were left, one at least", () => {
  assert.deepEqual(
    [0, 2, 8, 20].map((at) => remaining(run(), at)),
    [8, 6, 1, 1],
  );
  assert.equal(remaining({ ...run(), meta: { stack: "target" } as any }, 0), 2);
});

test("chances are the recorded ones, of the run's own token too", () => {
  assert.deepEqual(
    [
      chanceOf(run(), 0, "a"),
      chanceOf(run(), 0, "x"),
      chanceOf(run(), 0, "y"),
      chanceOf(run(), 1, "x"),
    ],
    [0.5, 0.25, null, null],
  );
  assert.ok(Math.abs((likelihoodOf(run().tokens) ?? 0) - Math.sqrt(0.1)) < 1e-12);
  assert.equal(likelihoodOf([]), null);
});

test("a conversation has no branches: its prompt is not what the model reads", () => {
  assert.equal(canBranch(run()), true);
  assert.equal(canBranch({ ...run(), meta: { stack: "target", chat: true } as any }), false);
});
