// The blocks of the visitor's passes, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { blocksOf } from "./blocks";
import type { Corner } from "./score";

/** A pass of two words, and one without a guess. */
const CORNERS: Corner[] = [
  { passes: 1, ns: 0, low: 0, high: 3, all: 4 },
  { passes: 2, ns: 0, low: 3, high: 4, all: 5 },
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
      [10, 80, 100, 3],
      [100, 180, 200, 1],
    ],
  );
});

test("a cell for each token of the score strings who wrote it", () => {
  assert.deepEqual(blocks(20)[0].cells, [
    { by: "you", foot: 200, top: 180 },
    { by: "you", foot: 180, top: 160 },
    { by: "own", foot: 160, top: 140 },
  ]);
  assert.deepEqual(blocks(20)[1].cells, [{ by: "own", foot: 140, top: 120 }]);
});

test("where cells would be too low, those of the visitor are one", () => {
  assert.deepEqual(blocks(2)[0].cells, [
    { by: "you", foot: 200, top: 196 },
    { by: "own", foot: 196, top: 194 },
  ]);
});
