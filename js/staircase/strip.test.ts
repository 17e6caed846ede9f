// The strip of rounds: what its bars consist of, and the events under its points.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { small } from "../lib/testing";
import { piecesOf, stripOf } from "./strip";

const PALETTE = { family: (source: string) => source } as any;

function storeOf(run: any = small()) {
  const store = createStore();
  store.adopt(run);
  return store;
}

test("a bar has a piece for each change of the source, from its foot", () => {
  const pieces = piecesOf(storeOf(), (source) => source);
  assert.deepEqual(pieces, [
    { round: 0, family: "nano", low: 0, high: 1 },
    { round: 0, family: "target", low: 1, high: 2 },
    { round: 1, family: "target", low: 0, high: 1 },
  ]);
});

test("neighbours of one family are one piece", () => {
  const pieces = piecesOf(storeOf(), () => "any");
  assert.deepEqual(
    pieces.map(({ low, high }) => [low, high]),
    [
      [0, 2],
      [0, 1],
    ],
  );
});

test("rounds are equally wide, also where one took longer; a point is an event of it", () => {
  const slow = small();
  slow.rounds.duration_ns = slow.rounds.duration_ns.map((ns, k) => (k ? ns : 50 * (ns ?? 1)));
  const store = storeOf(slow);
  const { rounds, events } = store.index();
  const strip = stripOf(store, PALETTE, 100, 34);
  assert.equal(strip.stepAt(0), 0);
  assert.equal(strip.stepAt(49), rounds[0].end - 1);
  assert.equal(strip.stepAt(51), rounds[1].begin);
  assert.equal(strip.stepAt(100), events.length - 1);
});

test("a run without rounds has an empty strip", () => {
  const strip = stripOf(createStore(), PALETTE, 100, 34);
  assert.equal(strip.stepAt(50), 0);
});
