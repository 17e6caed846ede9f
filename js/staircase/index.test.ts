// The staircase: geometry of a run, and the events under its points.
import assert from "node:assert/strict";
import { test } from "vitest";
import { ticks } from "../lib/chart";
import { createStore } from "../lib/run";
import { columns, RECORDED, small } from "../lib/testing";
import { paths } from "./drawing";
import { stairsOf, stepAt, timeOf } from "./stairs";

const of = (snapshot: any) => {
  const store = createStore();
  store.adopt(snapshot);
  return { store, stairs: stairsOf(store) };
};

test("a tread is as wide as its round took, a riser as high as what it brought", () => {
  const { stairs } = of(small());
  assert.deepEqual(stairs.treads, [
    { round: 2, from: 0, to: 4e6, low: 0, high: 2 },
    { round: 3, from: 4e6, to: 8e6, low: 2, high: 3 },
  ]);
  assert.deepEqual([stairs.tokens, stairs.end, stairs.plain, stairs.timed], [3, 8e6, null, true]);
});

test("the ramp is plain decoding of as many tokens", () => {
  const { stairs } = of({ ...small(), meta: { plain: { tokens_per_second: 500 } } });
  assert.equal(stairs.plain, 6e6);
});

test("the staircase has the speed-up of the metrics, also of pairs; the ramp ends by it", () => {
  const verify = (round: number) => ({
    round,
    level: 1,
    name: "target",
    kind: "verify",
    steps: 1,
    fed: 2,
    cached: 0,
  });
  const calls = [verify(2), verify(3)].map((call) => ({
    ...call,
    start_ns: 4e6 * call.round,
    duration_ns: 4e6,
  }));
  const gain = (plain: object) => of({ ...small(), calls: columns(calls), meta: { plain } }).stairs;
  // Three tokens in two rounds of 8 ms together: at most 1.5 times as fast, and 5 % for the noise
  // of timings.
  assert.deepEqual(
    [gain({ tokens_per_second: 250 }).gain?.value, gain({ tokens_per_second: 250 }).plain],
    [1.5, 12e6],
  );
  const pairs = gain({ tokens_per_second: 250, speedups: [1.2, 1.3, 1.4] });
  assert.deepEqual([pairs.gain?.value, pairs.plain], [1.3, 8e6 * 1.3]);
  assert.deepEqual(
    [gain({ tokens_per_second: 200 }).gain?.impossible, gain({}).gain],
    [true, null],
  );
});

test("a run without times has rounds of one width", () => {
  const untimed = small();
  untimed.rounds.start_ns = untimed.rounds.duration_ns = [null, null, null];
  const { stairs } = of({ ...untimed, meta: { plain: { tokens_per_second: 500 } } });
  assert.deepEqual([stairs.end, stairs.plain, stairs.timed], [2, null, false]);
});

test("each token is a piece of a riser in its source's colour", () => {
  const { store, stairs } = of(small());
  const { line, between, risers } = paths(stairs, store.tokens, (s) => s, {
    x: (ns) => ns / 1e6,
    y: (n) => 30 - 10 * n,
  });
  assert.equal(between, "");
  assert.equal(line, "M0.00 30.00H4.00M4.00 10.00H8.00");
  assert.equal(risers.get("nano"), "M4.00 30.00V20.60");
  assert.equal(risers.get("target"), "M4.00 20.00V10.60M8.00 10.00V0.60");
});

test("time between two rounds is a tread of its own kind: the staircase has no hole", () => {
  const late = small();
  // The second target round starts 3 ms after the end of the first.
  late.rounds.start_ns = [4e6, 8e6, 15e6];
  const { store, stairs } = of(late);
  const at = { x: (ns: number) => ns / 1e6, y: (n: number) => 30 - 10 * n };
  const { line, between } = paths(stairs, store.tokens, (s) => s, at);
  assert.equal(line, "M0.00 30.00H4.00M7.00 10.00H11.00");
  assert.equal(between, "M4.00 10.00H7.00");
});

test("a point of the staircase is an event; an event has a time within its round", () => {
  const { store, stairs } = of(small());
  const { rounds, events } = store.index();
  assert.deepEqual(
    [-1, 0, 1.1e6, 3.9e6, 4e6, 9e6].map((t) => stepAt(stairs, t, rounds)),
    [0, 0, 1, 3, 4, 4],
  );
  for (const [name, run] of Object.entries(RECORDED)) {
    const { store, stairs } = of(run);
    const { rounds, events } = store.index();
    for (const step of events.keys()) {
      const at = timeOf(stairs, step, rounds);
      assert.ok(Math.abs(stepAt(stairs, at - 1, rounds) - step) <= 0, `${name}: event ${step}`);
    }
  }
  assert.equal(timeOf(stairs, events.length - 1, rounds), 8e6);
});

test("ticks are 1, 2 or 5 times a power of ten", () => {
  assert.deepEqual(ticks(128, 4), [0, 50, 100]);
  assert.deepEqual(ticks(0.9, 3), [0, 0.5]);
  assert.deepEqual(ticks(48, 2), [0, 20, 40], "a low chart has a number above 0");
  assert.deepEqual(ticks(0, 3), [0]);
});

test("a decode ends without its prefill", () => {
  const { stairs } = of({ ...small(), meta: { wall_ns: 10e6, prefill_ns: 1e6 } });
  assert.equal(stairs.end, 9e6);
});
