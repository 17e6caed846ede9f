// The blocks of the visitor's passes, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { blocksOf } from "./blocks";
import type { Corner } from "./score";

const CORNERS: Corner[] = [
  { passes: 1, ns: 0, low: 0, high: 3 },
  { passes: 2, ns: 0, low: 3, high: 4 },
];
const blocks = (pixels: number) =>
  blocksOf(
    CORNERS,
    ({ passes }) => 100 * passes,
    (tokens) => 200 - pixels * tokens,
    10,
  );

test("a block spans its pass, with a cell for each token", () => {
  assert.deepEqual(blocks(20), [
    { left: 10, right: 100, edges: [200, 180, 160, 140], tokens: 3 },
    { left: 100, right: 200, edges: [140, 120], tokens: 1 },
  ]);
});

test("where cells would be too low, the model's own token remains a cell of its own", () => {
  assert.deepEqual(
    blocks(2).map(({ edges }) => edges),
    [
      [200, 196, 194],
      [194, 192],
    ],
  );
});
