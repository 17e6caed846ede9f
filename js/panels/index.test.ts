// Tables with bars.
import assert from "node:assert/strict";
import { test } from "vitest";
import { endOf } from "./index";

const row = (...lengths) => ({ parts: lengths.map((n) => ["k", n, "words"]) });

test("a whole bar is as long as the longest row, unless its length is given", () => {
  assert.equal(endOf({ end: null, rows: [row(1, 2), row(2)] }), 3);
  assert.equal(endOf({ end: 10, rows: [row(1, 2)] }), 10);
  assert.equal(endOf({ end: null, rows: [row(), row(0)] }), 1);
  assert.equal(endOf({ end: null, rows: [] }), 1);
});
