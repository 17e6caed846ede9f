// The figures of the players beside each other.
import assert from "node:assert/strict";
import { test } from "vitest";
import { storeOf } from "../lib/run";
import { round, snapshot, token } from "../lib/testing";
import { type GameText, MOST_PASSES } from "./play";
import { ENGLISH } from "./says";
import { standingsOf } from "./standings";
import { advance, propose, setPrice, settle, showTime, start, write } from "./state";

const WORDS = ["The", " cat", " sat", " on", " the", " mat", " and", " slept", "."];
const plain = snapshot({
  rounds: [round(1)],
  tokens: WORDS.map((text, id) => token(1, "plain", { text, id })),
});
const text = { name: "own", given: "The", plain: storeOf(plain as any), others: [] };
const GAME = start([text as unknown as GameText]);
const figures = (game: typeof GAME) =>
  standingsOf(game, ENGLISH).map(({ name, figure, note }) => [name, figure, note]);

test("the visitor has the tokens so far, and the others those of all passes", () => {
  assert.deepEqual(figures(GAME), [
    ["You", "0", "your turn"],
    ["Plain", String(MOST_PASSES), "one token per pass"],
  ]);
  const played = settle(propose(write(GAME, "cat sat")));
  assert.deepEqual(figures(played)[0], ["You", "3", "after 1 pass"]);
});

test("the results are tokens per pass, then what they cost in plain passes", () => {
  const played = advance(settle(propose(write(GAME, "cat sat"))));
  assert.deepEqual(figures(played), [
    ["You", "3.0", "after 1 pass"],
    ["Plain", "1.0", "one token per pass"],
  ]);
  const timed = showTime(setPrice({ ...played, price: { one: 100, more: 0 } }, 0.25));
  assert.deepEqual(figures(timed), [
    ["You", "2.00 ×", "3.0 tokens per pass, each 1.5 × as long"],
    ["Plain", "1.00 ×", "1.0 tokens per pass, each 1.0 × as long"],
  ]);
});
