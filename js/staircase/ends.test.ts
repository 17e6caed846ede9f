// Labels at the ends of a staircase and of its ramp, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { small } from "../lib/testing";
import { endsOf, LIFT, labelsOf, timeText } from "./ends";
import { stairsOf } from "./stairs";

const FRAME = { x: (at: number) => at, left: 40, width: 600 };
const end = (at: number, title: string, words = "") => ({ at, title, words, cls: "" });

test("labels are centred at their ends, and stay within the frame", () => {
  const [first] = labelsOf([end(300, "abcdefghij")], FRAME);
  assert.deepEqual([first.x, first.lift], [300, 0]);
  assert.equal(labelsOf([end(0, "abcdefghij")], FRAME)[0].x, 77);
  assert.equal(labelsOf([end(600, "abcdefghij")], FRAME)[0].x, 559);
});

test("a label that would touch the one before it is a row higher", () => {
  const touching = labelsOf([end(360, "abcdefghij"), end(300, "abcdefghij")], FRAME);
  assert.deepEqual(
    touching.map(({ at, lift }) => [at, lift]),
    [
      [300, 0],
      [360, LIFT],
    ],
  );
  const apart = labelsOf([end(300, "abcdefghij"), end(400, "abcdefghij")], FRAME);
  assert.deepEqual(
    apart.map(({ lift }) => lift),
    [0, 0],
  );
});

test("the ends are those of the run and of plain decoding, with the speed-up", () => {
  const store = createStore();
  const meta = { stack: "nano > target", plain: { tokens_per_second: 500 } };
  store.adopt({ ...small(), meta } as any);
  const ends = endsOf(store, stairsOf(store));
  assert.deepEqual(
    ends.map(({ title, at }) => [title, at]),
    [
      ["nano", 8e6],
      ["plain decoding", 6e6],
    ],
  );
  assert.match(ends[0].words, /^8\.00 ms · 0\.75×/);
  assert.equal(timeText({ timed: false }, 3), "3 rounds");
});

test.each([
  ["target", "plain decoding"],
  ["", "this run"],
  ["db > nano:2 > target", "databases, then nano"],
])("the end of a run of '%s' is called %s", (stack, title) => {
  const store = createStore();
  store.adopt({ ...small(), meta: { stack } } as any);
  assert.equal(endsOf(store, stairsOf(store))[0].title, title);
});

test("a run without tokens has no ends", () => {
  const store = createStore();
  assert.deepEqual(endsOf(store, stairsOf(store)), []);
});
