// Tables with bars.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

// It shares names with the linked views' scripts and stands by itself.
const source = readFileSync(new URL("../../hsd_viz/views/static/panels.js", import.meta.url), "utf8");
const { endOf } = await import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);
const row = (...lengths) => ({ parts: lengths.map((n) => ["k", n, "words"]) });

test("a whole bar is as long as the longest row, unless its length is given", () => {
  assert.equal(endOf({ end: null, rows: [row(1, 2), row(2)] }), 3);
  assert.equal(endOf({ end: 10, rows: [row(1, 2)] }), 10);
  assert.equal(endOf({ end: null, rows: [row(), row(0)] }), 1);
  assert.equal(endOf({ end: null, rows: [] }), 1);
});
