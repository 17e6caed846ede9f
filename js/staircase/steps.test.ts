// Labels of steps, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { stepLabels } from "./steps";

/** Ten pixels for a token, and one for a unit of time. */
const FRAME = { x: (at: number) => at, y: (tokens: number) => 500 - 10 * tokens, left: 0 };
/** Treads that end at these times, with the tokens that each brings. */
function treads(...all: [to: number, tokens: number][]) {
  let low = 0;
  let from = 0;
  return all.map(([to, tokens], round) => {
    const tread = { round, from, to, low, high: low + tokens };
    low = tread.high;
    from = to;
    return tread;
  });
}
const words = (...all: [number, number][]) =>
  stepLabels(treads(...all), FRAME).map((label) => label.words);

test("a label is to the left of its riser, below the top", () => {
  assert.deepEqual(stepLabels(treads([100, 5]), FRAME), [{ words: "+5", x: 95, y: 461 }]);
});

test("the highest steps come first, and low ones have no label", () => {
  assert.deepEqual(words([100, 3], [200, 2], [300, 6]), ["+6", "+3"]);
});

test("labels of neighbours are above each other", () => {
  assert.deepEqual(words([100, 4], [104, 5]), ["+5", "+4"]);
});

test("there is no label where the riser is lower than it, or left of the frame", () => {
  assert.deepEqual(stepLabels(treads([100, 5]), { ...FRAME, y: (tokens) => 500 - tokens }), []);
  assert.deepEqual(words([15, 5]), []);
});

test("a run of many high steps has six labels", () => {
  const all = Array.from({ length: 9 }, (_, k): [number, number] => [100 * (k + 1), 4]);
  assert.equal(words(...all).length, 6);
});
