// The text of the game in pieces, and the sentences about its figures, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { piecesOf } from "./line";
import { begin, type GameText, type Play, read } from "./play";
import { ENGLISH } from "./says";
import { costWords, named, scoreWords, summaryOf, timesWords } from "./sentences";

const textOf = (words: string[]): GameText => ({
  name: "cat",
  title: "",
  asked: "",
  given: words[0],
  lesson: "",
  plain: { tokens: words.map((text, token_id) => ({ text, token_id, top: null })) } as any,
  others: [],
});
const WORDS = ["The", " cat", ",", " it", " sat", " down", "\n\n\n", "end"];
const BEGUN = begin([textOf(WORDS)]);
const piece = (by: string, blank: string, words: string, struck = "") => ({
  by,
  blank,
  words,
  struck,
});

test("neighbours of one writer are one mark, and a mark begins with the word", () => {
  const { play } = read(BEGUN, ["cat", "it"]);
  assert.deepEqual(piecesOf(play).pieces, [
    piece("given", "", "The"),
    piece("you", " ", "cat"),
    piece("you", "", ","),
    piece("you", "", " it"),
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

test("a pass is the sum of what the text has there", () => {
  const { pass } = read(BEGUN, ["cat", "dog"]);
  assert.equal(
    summaryOf(pass, BEGUN.texts[0].plain.tokens, ENGLISH),
    "1 of 2 words accepted, “dog” rejected: " +
      "1 word + 1 comma + the model’s “it” = 3 tokens in one pass.",
  );
  const silent = read(read(BEGUN, ["cat it sat down"]).play, []).pass;
  assert.equal(
    summaryOf({ ...silent, own: 6 }, BEGUN.texts[0].plain.tokens, ENGLISH),
    "The model wrote “↵” alone: 1 token in one pass.",
  );
});

const pass = (tokens: number, width: number) => ({ tokens, width, drafting: 0 });
const PLAYERS = named(
  [
    { name: "you", source: "you", passes: [pass(2, 1)] },
    { name: "nano", source: "nano", passes: [pass(3, 9)] },
  ],
  ENGLISH,
);

test("scores begin with the most tokens, times with the fastest", () => {
  assert.equal(scoreWords(PLAYERS, ENGLISH), "nano 3.0 and you 2.0");
  assert.equal(
    timesWords(PLAYERS, { one: 100, more: 0.5 }, ENGLISH),
    "Fastest first: you 2.00 ×, nano 0.60 ×.",
  );
  assert.equal(
    timesWords(PLAYERS, { one: 100, more: 0 }, ENGLISH),
    "Fastest first: nano 3.00 ×, you 2.00 ×.",
  );
});

const player = (name: string, tokens: number, width: number, drafting = 0) => ({
  name,
  source: name,
  passes: [{ tokens, width, drafting }],
});
const why = (players: ReturnType<typeof player>[], more: number) =>
  costWords(named(players, ENGLISH), { one: 100, more }, ENGLISH);
const COST = "and a pass over 9 tokens costs as much as 5.0 over one.";

test("a player with the fewest passes who is slower is named with what a pass costs", () => {
  const others = [player("copying", 2, 1), player("nano", 1, 3)];
  assert.equal(
    why([player("you", 3, 9), ...others], 0.5),
    `Fewer passes are not faster: you needed the fewest, ${COST}`,
  );
  assert.equal(
    why([player("you", 2, 1), player("nano", 3, 9)], 0.5),
    `Fewer passes are not faster: nano needed the fewest, ${COST}`,
  );
  assert.equal(
    why([player("you", 3, 9), player("nano", 3, 9), player("copying", 2, 1)], 0.5),
    `Fewer passes are not faster: you and nano needed the fewest, ${COST}`,
  );
});

test("players with as few passes as the fastest are named together", () => {
  const tied = [player("you", 3, 9), player("copying", 3, 4), player("nano", 2, 12)];
  assert.equal(
    why(tied, 0.5),
    `Equally many passes are not equally fast: you and copying needed as many, ${COST}`,
  );
});

test("nothing is explained where those with the fewest passes are the fastest", () => {
  assert.equal(why([player("you", 3, 2), player("nano", 2, 9)], 0.5), "");
  const tied = [player("you", 3, 9, 0.01), player("copying", 3, 4)];
  assert.equal(why(tied, 0), "", "their times are shown as the same");
});
