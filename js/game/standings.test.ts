// The figures of the players beside each other.
import assert from "node:assert/strict";
import { test } from "vitest";
import { storeOf } from "../lib/run";
import { round, snapshot, token } from "../lib/testing";
import { barOf } from "./bars";
import { layoutOf } from "./picture";
import { type GameText, playersOf } from "./play";
import type { Played } from "./run";
import { gainOf, tokensOf } from "./score";
import { gainText, named, verdictOf } from "./sentences";
import { stairsOf } from "./stairs";
import { standingsOf } from "./standings";
import {
  advance,
  isPlaying,
  lastPass,
  propose,
  setPrice,
  settle,
  showTime,
  start,
  turnStairs,
  write,
} from "./state";
import { ENGLISH } from "./strings";

const WORDS = ["The", " cat", " sat", " on", " the", " mat", " and", " slept", "."];
const plain = snapshot({
  rounds: [round(1)],
  tokens: WORDS.map((text, id) => token(1, "plain", { text, id })),
});
const text = { name: "own", given: "The", passes: 3, plain: storeOf(plain as any), others: [] };
const GAME = start([text as unknown as GameText]);
const figures = (game: typeof GAME) =>
  standingsOf(game, ENGLISH).map(({ name, figure, note }) => [name, figure, note]);

const readOne = (game: typeof GAME, words: string) => settle(propose(write(game, words)));

test("the figures are those of as many passes", () => {
  assert.deepEqual(figures(readOne(GAME, "cat sat")), [
    ["You", "3", "after 1 pass"],
    ["Plain", "1", "one token per pass"],
  ]);
});

/** A game over a text with a comma: after a pass over two words, and after all passes. */
function playedWithCommas() {
  const words = ["The", " cat", ",", " sat", " down", "."];
  const run = snapshot({
    rounds: [round(1)],
    tokens: words.map((word, id) => token(1, "plain", { text: word, id })),
  });
  const game = start([{ ...text, plain: storeOf(run as any) } as unknown as GameText]);
  const first = readOne(game, "cat sat");
  return { first, result: advance(readOne(first, "")) };
}

test("what was filled in for the visitor is in the score", () => {
  const { first, result } = playedWithCommas();
  assert.deepEqual(figures(first)[0], ["You", "4", "after 1 pass"]);
  assert.deepEqual(figures(result)[0], ["You", "2.5", "after 2 passes"]);
});

test("cells of the bar, standings, stairs and tokens per pass have one number of tokens", () => {
  const { first, result } = playedWithCommas();
  for (const game of [first, result])
    for (const [place, { figure, passes }] of standingsOf(game, ENGLISH).entries()) {
      const tokens = tokensOf(passes);
      assert.equal(barOf(passes).length, tokens);
      assert.equal(Number(figure) * (isPlaying(game) ? 1 : passes.length), tokens);
      const { drawn, frame, ends } = layoutOf(stairsOf(game, 600, ENGLISH, String));
      assert.equal(drawn[place].corners.at(-1)?.high, tokens);
      assert.equal(ends[place].y, frame.y(tokens));
      assert.equal(gainOf(passes, { one: 1, more: 0 }) * passes.length, tokens);
    }
  const [you] = standingsOf(first, ENGLISH);
  assert.equal(gainText(lastPass(first) as Played, ENGLISH), `One pass instead of ${you.figure}`);
  assert.equal(verdictOf(named(playersOf(result.play), ENGLISH), ENGLISH).match(/\d+/)?.[0], "5");
});

test("between two texts the figures are of all texts, which then are beside this one's", () => {
  const second = advance(readOne(start([text, text] as unknown as GameText[]), "cat sat"));
  assert.deepEqual(figures(second), [
    ["You", "3", "your turn"],
    ["Plain", "1", "one token per pass"],
  ]);
  assert.deepEqual(figures(readOne(second, "cat"))[0], ["You", "2", "all texts: 5"]);
});

test("the results are tokens per pass, then what they cost in plain passes", () => {
  const played = advance(settle(propose(write(GAME, "cat sat"))));
  assert.deepEqual(figures(played), [
    ["You", "3.0", "after 1 pass"],
    ["Plain", "1.0", "one token per pass"],
  ]);
  const turning = showTime(setPrice({ ...played, price: { one: 100, more: 0 } }, 0.25));
  assert.deepEqual(figures(turning), figures(played), "until the stairs have turned");
  const timed = turnStairs(turning, 1);
  assert.deepEqual(figures(timed), [
    ["You", "2.00 ×", "3.0 ÷ 1.50"],
    ["Plain", "1.00 ×", "1.0 ÷ 1.00"],
  ]);
});
