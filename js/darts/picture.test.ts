// The pile that darts make, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import type { Board } from "./board";
import { pileOf, pOf, type Thrown } from "./picture";

const column = (accepted: number, residual: number) => ({
  id: 0,
  accepted,
  residual,
  surplus: 0,
  drafted: true,
});
const BOARD: Board = { rule: "ratio", columns: [column(0.25, 0.5), column(0, 0.25)], left: 0.75 };
const dart = (at: number, counts: boolean): Thrown => ({
  column: at,
  y: 0,
  x: 0,
  hit: true,
  counts,
});

test("the pile is made of the darts that count", () => {
  assert.deepEqual(pileOf(BOARD, []), [0, 0]);
  const darts = [dart(0, true), dart(1, false), dart(0, true), dart(0, true), dart(1, true)];
  assert.deepEqual(pileOf(BOARD, darts), [0.75, 0.25]);
});

test("p is what is accepted and what is left", () => {
  assert.deepEqual(BOARD.columns.map(pOf), [0.75, 0.25]);
});
