// The stairs: what passes bring and cost, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { columns, small } from "../lib/testing";
import {
  breakEven,
  cornersOf,
  costOf,
  gainOf,
  hasFilled,
  type Pass,
  passesOf,
  playOf,
  priceOf,
  ranked,
  seedOf,
  timeTo,
  tokensOf,
  tokensPerPass,
  turnsOf,
} from "./score";

const pass = (tokens: number, width: number, drafting = 0): Pass => ({ tokens, width, drafting });
const PRICE = { one: 100, more: 0.5 };
const verify = (round: number, fed: number, duration_ns: number) => ({
  round,
  level: 1,
  name: "target",
  kind: "verify",
  steps: 1,
  fed,
  cached: 0,
  start_ns: 0,
  duration_ns,
});
const storeWith = (calls: object[]) => {
  const store = createStore();
  store.adopt({ ...small(), calls: columns(calls) } as any);
  return store;
};

test("a pass costs its first token, a share for each more, and the drafting", () => {
  assert.equal(costOf(pass(3, 5, 40), PRICE), 100 * (1 + 0.5 * 4) + 40);
  assert.deepEqual(cornersOf([pass(3, 2), pass(1, 1)], PRICE), [
    { passes: 1, ns: 150, low: 0, high: 3, filled: [] },
    { passes: 2, ns: 250, low: 3, high: 4, filled: [] },
  ]);
});

test("what was filled in is in the score and in the speed as any token", () => {
  const filled = [false, true, false];
  const passes = [{ ...pass(4, 1), filled }, pass(2, 1)];
  const [corner] = cornersOf(passes, PRICE);
  assert.deepEqual(corner, { passes: 1, ns: 100, low: 0, high: 4, filled });
  assert.equal(tokensOf(passes), 6);
  assert.equal(tokensPerPass(passes), 3);
  assert.equal(tokensPerPass([]), 0);
  assert.equal(gainOf(passes, PRICE), 3);
  assert.equal(breakEven([{ ...passes[0], width: 5 }], PRICE), 0.75);
  assert.equal(timeTo(6, passes, PRICE), 200);
  assert.deepEqual([passes, [pass(4, 1)]].map(hasFilled), [true, false]);
});

test("who is ahead is the same over passes and over time where all passes cost as much", () => {
  const helped = { passes: [{ ...pass(5, 5), filled: [true, true, true, false] }] };
  const copying = { passes: [pass(4, 5)] };
  assert.deepEqual(ranked([copying, helped], PRICE), [helped, copying]);
  assert.ok(tokensPerPass(helped.passes) > tokensPerPass(copying.passes));
});

test("fewer passes are not faster where a token in a pass is expensive", () => {
  const many = { passes: [pass(4, 9)] };
  const alone = { passes: [pass(1, 1)] };
  assert.equal(tokensPerPass(many.passes), 4);
  assert.equal(gainOf(many.passes, { one: 100, more: 0 }), 4);
  assert.equal(gainOf(many.passes, { one: 100, more: 0.5 }), 0.8);
  assert.deepEqual(ranked([alone, many], { one: 100, more: 0 }), [many, alone]);
  assert.deepEqual(ranked([many, alone], { one: 100, more: 0.5 }), [alone, many]);
  assert.equal(ranked([alone, { passes: [pass(1, 1)] }], PRICE)[0], alone);
});

test("each player turns slower than plain decoding at its own price, those in order", () => {
  const player = (name: string, passes: Pass[]) => ({ name, source: name, passes });
  const plain = player("plain", [pass(1, 1)]);
  const you = player("you", [pass(3, 9)]);
  const nano = player("nano", [pass(2, 3, 50)]);
  const copying = player("copying", [pass(4, 5)]);
  const turns = turnsOf([you, copying, nano, plain], PRICE);
  assert.deepEqual(
    turns.map(({ name, isYou, more }) => [name, isYou, more]),
    [
      ["you", true, 0.25],
      ["nano", false, 0.25],
      ["copying", false, 0.75],
    ],
  );
  for (const { passes, more } of turns)
    for (const [shift, isFaster] of [
      [-0.01, true],
      [0.01, false],
    ] as const)
      assert.equal(gainOf(passes, { ...PRICE, more: more + shift }) > 1, isFaster);
  const never = player("copying", [pass(2, 2)]);
  const drafting = player("nano", [pass(2, 3, 200)]);
  assert.deepEqual(turnsOf([plain, never, drafting], PRICE), [], "no price of a token turns them");
});

test("the time to a number of tokens has the ratio of the gains", () => {
  const passes = [pass(4, 3), pass(2, 1, 100)];
  assert.equal(timeTo(6, passes, PRICE), cornersOf(passes, PRICE)[1].ns);
  assert.equal(timeTo(12, passes, PRICE), 800);
  assert.equal(timeTo(12, [pass(1, 1)], PRICE) / 800, gainOf(passes, PRICE));
});

test("recorded passes have tokens and width; the rest of their rounds is drafting", () => {
  const store = storeWith([verify(2, 4, 3_000_000), verify(3, 1, 4_000_000)]);
  assert.deepEqual(passesOf(store, 0), [pass(2, 4, 1_000_000), pass(1, 1, 0)]);
  assert.deepEqual(passesOf(store, 1), [pass(1, 1, 0)]);
});

test("the price is the line through the medians of recorded passes", () => {
  const price = priceOf([storeWith([verify(2, 5, 300), verify(3, 1, 100)])]);
  assert.deepEqual(price, { one: 100, more: 0.5 });
  assert.equal(priceOf([storeWith([verify(2, 5, 90), verify(3, 1, 100)])]).more, 0);
  assert.equal(priceOf([storeWith([verify(3, 1, 100)])]).more, 0);
});

test("a day has the same texts for everybody, and the next one others", () => {
  const seed = seedOf(new Date(2026, 10, 28, 23, 59));
  assert.equal(seed, seedOf(new Date(2026, 10, 28, 0, 1)));
  assert.equal(seedOf(new Date(2026, 10, 29)) - seed, 1);
  assert.deepEqual(
    [0, 1, 2, -1].map((at) => playOf([["a"], ["b"]], at)[0]),
    ["a", "b", "a", "b"],
  );
  assert.deepEqual(playOf([], 1), []);
});
