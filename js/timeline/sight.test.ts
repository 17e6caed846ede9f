// What is in view of a run under zoom and scroll, by hand, and the columns of rounds in it.
import assert from "node:assert/strict";
import { test } from "vitest";
import type { Call } from "../lib/tables";
import { columnPath, hasNumber } from "./rows";
import {
  beginsAt,
  CLOSEST,
  clampZoom,
  heldBy,
  revealing,
  sightOf,
  timeAt,
  xOf,
  zoomFor,
} from "./sight";

const span = (start_ns: number, duration_ns: number) => ({ start_ns, duration_ns });

test("without a zoom the whole run is in view", () => {
  const sight = sightOf(1000, 500, 0, 0);
  assert.deepEqual(sight, { from: 0, to: 1000, width: 500, scale: 0.5 });
});

test("a zoom of one doubling shows half, from where it is scrolled to", () => {
  const sight = sightOf(1000, 500, 1, 250);
  assert.deepEqual([sight.from, sight.to], [250, 750]);
  assert.equal(xOf(sight, 300), 50);
  assert.equal(timeAt(sight, 50), 300);
  assert.equal(sightOf(1000, 500, 1, 600).to, 1000, "nothing is after the end");
});

test("a zoom stays between the whole run and the closest", () => {
  assert.deepEqual([-1, 3, 99].map(clampZoom), [0, 3, CLOSEST]);
  assert.equal(zoomFor(1000, 250), 2);
  assert.equal(zoomFor(1024, 0), 10, "no time is shown as one nanosecond");
});

test("a span in view keeps its place, else the middle of the view does", () => {
  const sight = sightOf(1000, 500, 1, 250);
  assert.equal(heldBy(sight, span(300, 100)), 350);
  assert.equal(heldBy(sight, span(0, 100)), 500);
  assert.equal(heldBy(sight, null), 500);
});

test("a span is revealed by a zoom only where it is longer than the view", () => {
  const sight = sightOf(1000, 500, 1, 250);
  assert.equal(revealing(sight, span(250, 500)), "nothing");
  assert.equal(revealing(sight, span(700, 100)), "scroll");
  assert.equal(revealing(sight, span(240, 20)), "scroll");
  assert.equal(revealing(sight, span(0, 501)), "zoom");
});

test("a view that is scrolled to whole pixels begins where it should", () => {
  const sight = sightOf(1000, 500, 1, 250);
  assert.ok(beginsAt(sight, 250) && beginsAt(sight, 250.4));
  assert.ok(!beginsAt(sight, 251));
});

test("numbers are in bars of passes that have room for them, in view", () => {
  const pass = (start_ns: number, duration_ns: number, kind = "verify") =>
    ({ start_ns, duration_ns, kind, fed: 3 }) as Call;
  const sight = sightOf(1000, 500, 1, 250);
  assert.ok(hasNumber([pass(300, 15)], sight));
  assert.ok(!hasNumber([pass(300, 14)], sight));
  assert.ok(!hasNumber([pass(0, 200), pass(300, 99, "prefill")], sight));
});

test("a column of a round is drawn in view only, and never without a width", () => {
  const sight = sightOf(1000, 500, 1, 250);
  const place = { low: 5, high: 10, foot: 40 };
  assert.equal(columnPath(span(300, 100), place, sight), "M50.0 35.0h99.0v-10.0h-99.0z");
  assert.equal(columnPath(span(300, 0.1), place, sight), "M50.0 35.0h0.8v-10.0h-0.8z");
  assert.equal(columnPath(span(0, 100), place, sight), "");
  assert.equal(columnPath(span(900, 100), place, sight), "");
  assert.equal(columnPath(span(300, 100), { ...place, high: 0 }, sight), "");
});
