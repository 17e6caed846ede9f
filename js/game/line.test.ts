// The text of the game in pieces, and the sentences about its figures, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { piecesOf } from "./line";
import { begin, type GameText, type Play, read, USUAL_PASSES } from "./play";
import {
  COPYING,
  fateText,
  filledText,
  gainText,
  named,
  rivalText,
  summaryOf,
  timeText,
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
  assert.equal(
    gainText(pass, tokens, ENGLISH),
    "2 tokens in one pass + 1 filled in. Plain decoding needs 3 passes.",
  );
  const silent = { ...read(BEGUN, []).pass, at: 6, own: 6 };
  assert.equal(
    summaryOf(silent, tokens, ENGLISH),
    "No guess: the model wrote “↵” alone, as in plain decoding.",
  );
  assert.equal(gainText(silent, tokens, ENGLISH), "1 token in one pass.");
});

test("a pass without a right word saves none, also where a comma was filled in", () => {
  const { tokens } = BEGUN.texts[0].plain;
  const wrong = read(read(BEGUN, []).play, ["dog"]).pass;
  assert.equal(wrong.accepted, 1);
  assert.equal(
    gainText(wrong, tokens, ENGLISH),
    "No word was right: the pass brings the model’s own word.",
  );
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

test("what was filled in does not count", () => {
  const [you, ...others] = [player("you", 4, 1), player("plain", 1, 1), player("nano", 3, 1)];
  const helped = { ...you, passes: [{ ...you.passes[0], filled: [false, true, false] }] };
  assert.match(verdictOf([helped, ...others], ENGLISH), /^A tie of you and nano: 3 tokens/);
  assert.equal(
    filledText(helped, ENGLISH),
    "Not counted: 1 token filled in (commas, line breaks).",
  );
  assert.equal(filledText(you, ENGLISH), "");
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

test("the sentence on the words of a text is that of their results", () => {
  const { tokens } = BEGUN.texts[0].plain;
  const fate = (...all: string[][]) =>
    fateText(
      all.map((words) => read(BEGUN, words).pass),
      tokens,
      ENGLISH,
    );
  assert.equal(fate([]), "");
  assert.equal(fate([], ["cat", "it"]), "");
  assert.equal(
    fate(["cat"], ["cat", "dog"]),
    "You wrote “dog”, the model “it”: only what the model writes counts.",
  );
});

/** What is said of players: a pass over one token takes 100 ns, and each more a share of it. */
function why(players: ReturnType<typeof player>[], more: number): string {
  const words = timeText(named(players, ENGLISH), { one: 100, more }, ENGLISH);
  return `${words.head} ${words.why}`;
}

test("a player with fewer passes who is slower is named with what a pass of it costs", () => {
  assert.equal(
    why([player("you", 3, 9), player("copying", 2, 1), PLAIN], 0.5),
    "You are slower than plain decoding: " +
      "3.0 tokens per pass, but a pass takes as long as 5.0 plain ones. " +
      "Fewer passes are not always faster: you took 3.33 × as long as copying. " +
      "With 3.0 tokens per pass, you needed fewer passes, " +
      "but a pass took as long as 5.0 plain ones.",
  );
  assert.match(
    why([player("you", 3, 2), player("nano", 2, 1, 200), PLAIN], 0.5),
    /Fewer passes are not always faster: nano took 1.5 × as long as plain decoding. .* 3.0 plain/,
    "drafting is a part of the cost",
  );
});

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
])("beside a slower one, a visitor who reads %i tokens has the own speed", (width, words) => {
  const players = [player("you", 3, width), player("nano", 4, 1, 800), PLAIN];
  const said = why(players, 0.5);
  assert.match(said, /Fewer passes are not always faster: nano took /);
  assert.ok(said.startsWith(words), said);
});

test("a tie of the visitor in tokens per pass is said with the times", () => {
  const players = [player("you", 3, 5), player("copying", 3, 4), player("nano", 2, 12), PLAIN];
  const tie =
    "With 3.0 tokens per pass each, you took 1.13 × as long as copying: " +
    "a pass took as long as 1.80 plain ones, against 1.60.";
  assert.match(why(players, 0.2), /Fewer passes are not always faster: nano took /);
  assert.ok(why(players, 0.2).endsWith(tie), why(players, 0.2));
});

test("without such a player, those with as many passes are compared first", () => {
  assert.equal(
    why([player("you", 3, 9), player("copying", 3, 4), player("nano", 2, 5), PLAIN], 0.1),
    "You are faster than plain decoding: " +
      "3.0 tokens per pass, and a pass takes as long as 1.8 plain ones. " +
      "With 3.0 tokens per pass each, you took 1.38 × as long as copying: " +
      "a pass took as long as 1.80 plain ones, against 1.30.",
  );
});

test("where those with fewer passes are faster, it is said with the price", () => {
  assert.equal(
    why([player("you", 3, 2), player("nano", 2, 3), PLAIN], 0.01),
    "You are faster than plain decoding: " +
      "3.0 tokens per pass, and a pass takes as long as 1.0 plain ones. " +
      "Here fewer passes are faster: one more token in a pass costs only 1 % of it. " +
      "Above 50 %, nano would be slower than plain decoding, with fewer passes.",
  );
});
