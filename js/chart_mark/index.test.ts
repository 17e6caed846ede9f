// The band over the cursor's round in a chart: its place.
import assert from "node:assert/strict";
import { test } from "vitest";
import { bandOf } from "./index";

test("a band is as wide as one round and covers it", () => {
  assert.deepEqual(bandOf(1, [0.5, 10.5], 100), { left: 0, width: 10 });
  assert.deepEqual(bandOf(10, [0.5, 10.5], 100), { left: 90, width: 10 });
});

test("among a thousand rounds it can still be seen, and does not leave the plot", () => {
  const band = bandOf(1000, [0.5, 1000.5], 500);
  assert.ok(band.width >= 1.5 && band.left + band.width <= 500);
  const middle = bandOf(500, [0.5, 1000.5], 500);
  assert.equal(middle.width, 3);
  assert.ok(Math.abs(middle.left + 1.5 - 249.75) < 1e-9);
});

test("a round that the chart is zoomed away from has none", () => {
  assert.equal(bandOf(3, [5, 9], 100), null);
  assert.equal(bandOf(12, [5, 9], 100), null);
  assert.equal(bandOf(1, [5, 5], 100), null);
});
