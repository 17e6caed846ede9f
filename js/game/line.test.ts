// The text of the game in pieces, and the sentences about its figures, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { piecesOf } from "./line";
import { begin, type GameText, type Play, read, USUAL_PASSES } from "./play";
import {
  COPYING,
  gainText,
  lateText,
  named,
  rivalText,
  speedText,
  summaryOf,
  verdictOf,
} from "./sentences";
import { ENGLISH } from "./strings";

const textOf = (words: string[]): GameText => ({
  name: "cat",
  title: "",
  asked: "",
  given: words[0],
  lesson: "",
  passes: USUAL_PASSES,
  plain: { tokens: words.map((text, token_id) => ({ text, token_id, top: null })) } as any,
  others: [],
});
const WORDS = ["The", " cat", ",", " it", " sat", " down", "\n\n\n", "end"];
const BEGUN = begin([textOf(WORDS)]);
const piece = (by: string, blank: string, words: string, struck = "", unread = "") => ({
  by,
  blank,
  words,
  struck,
  unread,
});

test("a mark begins with the word, and what was filled in is not the visitor's", () => {
  const { play } = read(BEGUN, ["cat", "it"]);
  assert.deepEqual(piecesOf(play).pieces, [
    piece("given", "", "The"),
    piece("you", " ", "cat"),
    piece("filled", "", ","),
    piece("you", " ", "it"),
    piece("model", " ", "sat"),
  ]);
});

test("a rejected word remains before the model's own until the next pass", () => {
  const { play } = read(BEGUN, ["cat", "dog"]);
  assert.deepEqual(piecesOf(play).pieces.at(-1), piece("model", " ", "it", "dog"));
  const later = read(play, []).play;
  assert.deepEqual(piecesOf(later).pieces.slice(-2), [
    piece("model", " ", "it"),
    piece("model", "", " sat"),
  ]);
});

test("neighbours of one writer are one mark", () => {
  const begun = begin([textOf(["The", " cat", " sat", " down", " end"])]);
  const { play } = read(begun, ["cat", "sat"]);
  assert.deepEqual(piecesOf(play).pieces.slice(1, 3), [
    piece("you", " ", "cat"),
    piece("you", "", " sat"),
  ]);
});

test("the words after a rejected one remain beside it", () => {
  const { play } = read(BEGUN, ["cat", "dog", "x", "y"]);
  assert.deepEqual(piecesOf(play).pieces.at(-1), piece("model", " ", "it", "dog", "x y"));
});

test("a rejected word begins a mark, also after a token of the model", () => {
  const begun = begin([textOf(["The", " cat", " sat", " down", " end"])]);
  const { play } = read(read(begun, []).play, ["dog"]);
  assert.deepEqual(piecesOf(play).pieces.slice(1), [
    piece("model", " ", "cat"),
    piece("model", " ", "sat", "dog"),
  ]);
});

test("only the end of a long text is shown", () => {
  const play: Play = begin([textOf(["x", ...Array(40).fill(" words"), " end"])]);
  assert.equal(piecesOf(play).isCut, false);
  const { isCut, pieces } = piecesOf({ ...play, at: 41 });
  assert.ok(isCut);
  assert.equal(pieces.length, 26, "a token that begins before the end is shown whole");
});

test("the end has few lines, and begins with a word", () => {
  const lines = ["one", "\n", "two", "\n", "\n", "three", "\n", "four", " five"];
  const play: Play = begin([textOf([...lines, "end"])]);
  const { isCut, pieces } = piecesOf({ ...play, at: lines.length });
  assert.ok(isCut);
  assert.equal(pieces.map(({ blank, words }) => blank + words).join(""), "three\nfour five");
});

test("a pass has its tokens, those filled in beside them, and the result of its words", () => {
  const { pass } = read(BEGUN, ["cat", "dog"]);
  const { tokens } = BEGUN.texts[0].plain;
  assert.equal(
    summaryOf(pass, tokens, ENGLISH),
    "1 of 2 words accepted, “dog” rejected, then the model’s own “it”.",
  );
  assert.equal(gainText(pass, ENGLISH), "One pass instead of 3");
  const silent = { ...read(BEGUN, []).pass, at: 6, own: 6 };
  assert.equal(
    summaryOf(silent, tokens, ENGLISH),
    "No guess: the model wrote “↵” alone, as in plain decoding.",
  );
  assert.equal(gainText(silent, ENGLISH), "Without a guess: one token");
});

test("a pass without a right word has the comma before it, which was filled in", () => {
  const wrong = read(read(BEGUN, []).play, ["dog"]).pass;
  assert.equal(wrong.accepted, 1);
  assert.equal(gainText(wrong, ENGLISH), "No word was right: 2 tokens");
  const first = read(BEGUN, ["dog"]).pass;
  assert.equal(gainText(first, ENGLISH), "No word was right: 1 token");
});

test("a word that is right one place late is said to be late", () => {
  const { tokens } = BEGUN.texts[0].plain;
  const late = (words: string[]) => lateText(read(BEGUN, words).pass, tokens, ENGLISH);
  assert.equal(late(["the", "CAT"]), "“cat” came one place too late.");
  assert.equal(late(["cat", "dog", "it"]), "“it” came one place too late.");
  for (const words of [[], ["cat"], ["dog"], ["dog", "x", "cat"]]) assert.equal(late(words), "");
});

const player = (name: string, tokens: number, width: number, drafting = 0) => ({
  name,
  source: name === "plain" ? "target" : name,
  passes: [{ tokens, width, drafting }],
});

const PLAIN = player("plain", 1, 1);

test.each([
  [3, 2, "You win with 3 tokens in 1 pass. Second: nano with 2."],
  [2, 2, "A tie of you and nano: 2 tokens in 1 pass."],
  [1, 2, "nano wins with 2 tokens in 1 pass. You have 1."],
])("the visitor with %i tokens against %i", (yours, theirs, words) => {
  const players = [player("you", yours, 1), player("plain", 1, 1), player("nano", theirs, 1)];
  assert.equal(verdictOf(named(players, ENGLISH), ENGLISH), words);
});

test("what was filled in counts as any token", () => {
  const [you, ...others] = [player("you", 4, 1), player("plain", 1, 1), player("nano", 3, 1)];
  const helped = { ...you, passes: [{ ...you.passes[0], filled: [false, true, false] }] };
  const players = named([helped, ...others], ENGLISH);
  assert.match(verdictOf(players, ENGLISH), /^You win with 4 tokens in 1 pass/);
  assert.match(speedText(players, { one: 100, more: 0.5 }, ENGLISH), /faster .* 4\.0 tokens/);
});

test("how copying won or came close is said, and that nothing could be copied", () => {
  const copying = { ...player("copying", 4, 5), source: COPYING };
  const [you, nano] = [player("you", 3, 5), player("nano", 2, 3)];
  assert.match(rivalText([you, copying, nano, PLAIN], ENGLISH), /up to 4 tokens in a pass/);
  assert.equal(
    rivalText([you, { ...copying, passes: PLAIN.passes }, nano], ENGLISH),
    ENGLISH.no_copy,
  );
  const better = player("nano", 5, 6);
  assert.equal(rivalText([you, copying, better], ENGLISH), "", "another one came closer");
  assert.equal(rivalText([you, nano], ENGLISH), "");
});

/** A pass over one token takes 100 ns, and each more a share of it. */
const priceOf = (more: number) => ({ one: 100, more });

test.each([
  [
    2,
    "You are faster than plain decoding: " +
      "3.0 tokens per pass, and a pass takes as long as 1.5 plain ones.",
  ],
  [5, "You are as fast as plain decoding."],
  [
    9,
    "You are slower than plain decoding: " +
      "3.0 tokens per pass, but a pass takes as long as 5.0 plain ones.",
  ],
])("the speed of a visitor who reads %i tokens follows from the price", (width, words) => {
  assert.equal(speedText([player("you", 3, width)], priceOf(0.5), ENGLISH), words);
});

test("the speed of a visitor follows the price that is set", () => {
  const you = player("you", 3, 9);
  assert.match(speedText([you], priceOf(0.01), ENGLISH), /faster .* as long as 1.1 plain ones/);
  assert.match(speedText([you], priceOf(1), ENGLISH), /slower .* as long as 9.0 plain ones/);
});

test("a drafter with fewer tokens per pass may finish first, by the cost of its pass", () => {
  const players = named([player("you", 5, 9), player("copying", 4, 3), PLAIN], ENGLISH);
  assert.equal(
    speedText(players, priceOf(0.25), ENGLISH),
    "More tokens per pass, yet Copying finishes first: its pass costs 1.50, yours 3.00.",
  );
  assert.match(speedText(players, priceOf(0.01), ENGLISH), /^You are faster/);
  assert.match(speedText(players, priceOf(0.6), ENGLISH), /^You are slower than plain/);
  const more = named([player("you", 5, 9), player("copying", 6, 3), PLAIN], ENGLISH);
  assert.match(speedText(more, priceOf(0.25), ENGLISH), /^You are faster/);
});
