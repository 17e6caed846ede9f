// The blocks of the visitor's passes, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { blocksOf } from "./blocks";
import type { Corner } from "./score";

/** A pass of two words with a comma between them, and one without a guess. */
const CORNERS: Corner[] = [
  { passes: 1, ns: 0, low: 0, high: 4, filled: [false, true, false] },
  { passes: 2, ns: 0, low: 4, high: 5, filled: [] },
];
const blocks = (pixels: number) =>
  blocksOf(
    CORNERS,
    ({ passes }) => 100 * passes,
    (tokens) => 200 - pixels * tokens,
    10,
  );

test("a block is beside the riser of its pass, at the end of the step", () => {
  assert.deepEqual(
    blocks(20).map(({ from, left, right, tokens }) => [from, left, right, tokens]),
    [
      [10, 80, 100, 4],
      [100, 180, 200, 1],
    ],
  );
});

test("a cell for each token says who wrote it: a comma between two words was filled in", () => {
  assert.deepEqual(blocks(20)[0].cells, [
    { by: "you", foot: 200, top: 180 },
    { by: "filled", foot: 180, top: 160 },
    { by: "you", foot: 160, top: 140 },
    { by: "own", foot: 140, top: 120 },
  ]);
  assert.deepEqual(blocks(20)[1].cells, [{ by: "own", foot: 120, top: 100 }]);
});

test("where cells would be too low, the tokens of each kind are one", () => {
  assert.deepEqual(blocks(2)[0].cells, [
    { by: "you", foot: 200, top: 196 },
    { by: "filled", foot: 196, top: 194 },
    { by: "own", foot: 194, top: 192 },
  ]);
});
