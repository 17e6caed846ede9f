// What the visitor writes against what the model wrote.
import assert from "node:assert/strict";
import { test } from "vitest";
import { bare, choicesAfter, isFilled, kindsOf, placeAfter, readWords, wordAt } from "./words";

/** Tokens of a text, cut at bars. */
const tokensOf = (text: string) =>
  text.split("|").map((part, id) => ({
    token_id: id,
    text: part.replace("<end>", "<|end|>"),
    top: null as [number, number][] | null,
  }));
const MONTHS = tokensOf(" January|,| February|,| March|,| Apr|il|,| May|.|<end>");

test("words are read in any case, punctuation is filled in, the model adds its token", () => {
  const outcome = readWords(MONTHS, 2, ["february", "MARCH,"]);
  assert.deepEqual(outcome, { accepted: 4, own: 6, width: 5, fates: ["accepted", "accepted"] });
});

test("the first wrong word is struck, and those after it are not read", () => {
  const outcome = readWords(MONTHS, 2, ["February", "April", "May"]);
  assert.deepEqual(outcome, {
    accepted: 2,
    own: 4,
    width: 5,
    fates: ["accepted", "struck", "unread"],
  });
});

test("a wrong word loses only the words after it: the comma before it is filled in", () => {
  assert.deepEqual(readWords(MONTHS, 3, ["April", "March"]), {
    accepted: 1,
    own: 4,
    width: 4,
    fates: ["struck", "unread"],
  });
  assert.equal(readWords(MONTHS, 3, []).accepted, 0);
});

test("a word of several tokens counts as a whole, and can be written on from its middle", () => {
  assert.deepEqual(readWords(MONTHS, 6, ["April"]), {
    accepted: 3,
    own: 9,
    width: 4,
    fates: ["accepted"],
  });
  assert.deepEqual(readWords(MONTHS, 7, ["il"]).accepted, 2);
  assert.deepEqual(readWords(MONTHS, 7, ["April"]).accepted, 2);
  assert.deepEqual(readWords(MONTHS, 6, ["Apr"]).fates, ["accepted"]);
});

test("nothing written is one token of the model; the last token is never the visitor's", () => {
  assert.deepEqual(readWords(MONTHS, 2, []), { accepted: 0, own: 2, width: 1, fates: [] });
  assert.deepEqual(readWords(MONTHS, 9, ["May", "end"]), {
    accepted: 2,
    own: 11,
    width: 4,
    fates: ["accepted", "struck"],
  });
});

test("words after a recording that was cut are not read; those after a text are wrong", () => {
  const cut = tokensOf(" a|,| b|,| c");
  assert.deepEqual(readWords(cut, 1, ["b", "c", "d"]), {
    accepted: 3,
    own: 4,
    width: 6,
    fates: ["accepted", "unread", "unread"],
  });
  const ended = tokensOf(" a|,| b|,|<end>");
  assert.deepEqual(readWords(ended, 1, ["b", "c", "d"]).fates, ["accepted", "struck", "unread"]);
});

test("for any proposal the text stays the model's", () => {
  for (const words of [
    ["x"],
    ["February"],
    ["February", "x", "March"],
    ["", "!"],
    ["February", "March", "April", "May", "June"],
  ]) {
    const { accepted, own, width, fates } = readWords(MONTHS, 2, words);
    assert.equal(own, 2 + accepted);
    assert.ok(own < MONTHS.length && width >= accepted + 1 && fates.length === words.length);
  }
});

test("choices are the model's likeliest words in alphabetical order, with its own", () => {
  const tokens = tokensOf(" a|,| March|,| May|.");
  tokens[2].top = [
    [2, 0.5],
    [7, 0.3],
    [8, 0.1],
    [9, 0.1],
  ];
  const pieces = { 2: " March", 7: " April", 8: ",", 9: " march" };
  assert.deepEqual(choicesAfter(tokens, pieces, 1, []), ["April", "March"]);
  assert.deepEqual(choicesAfter(tokens, pieces, 1, ["wrong"]), ["May"]);
  assert.deepEqual(choicesAfter(tokens, pieces, 5, []), []);
});

test("a proposed word is not offered again, except where the text repeats it", () => {
  const tokens = tokensOf(" a|,| b|,| b|,| c|.");
  tokens[4].top = [
    [2, 0.5],
    [7, 0.3],
    [8, 0.1],
  ];
  const pieces = { 2: " b", 7: " x", 8: " y" };
  assert.deepEqual(choicesAfter(tokens, pieces, 3, []), ["b", "x", "y"]);
  assert.deepEqual(choicesAfter(tokens, pieces, 1, ["x"]), ["b", "y"]);
});

test("tokens of a pass are words and their pieces, what is filled in, and the model's own", () => {
  const kinds = (at: number, words: string[], tokens = MONTHS) =>
    kindsOf(tokens, at, readWords(tokens, at, words));
  assert.deepEqual(kinds(2, ["February", "March", "April"]), [
    ...["you", "filled"],
    ...["you", "filled"],
    ...["you", "you", "filled"],
    "own",
  ]);
  assert.deepEqual(kinds(2, ["zzz"]), ["own"]);
  assert.deepEqual(kinds(3, ["zzz"]), ["filled", "own"], "a comma before the wrong word");
  const list = tokensOf("1|.| Mon|day|\n|2|.| Tuesday|\n|3|.| Wednesday");
  const { accepted } = readWords(list, 2, ["Monday", "Tuesday"]);
  assert.equal(accepted, 2 + 1 + 6);
  assert.deepEqual(kinds(2, ["Monday", "Tuesday"], list), [
    ...["you", "you", "filled", "filled", "filled"],
    ...["you", "filled", "filled", "filled"],
    "own",
  ]);
});

test("a text is cut into words where blanks or punctuation are", () => {
  assert.equal(wordAt(MONTHS, 6), "April");
  assert.equal(placeAfter(MONTHS, " January,"), 2);
  assert.deepEqual(
    [
      bare(" Février, 2"),
      isFilled({ token_id: 1, text: "\n2." }),
      isFilled({ token_id: 1, text: " é" }),
    ],
    ["février", true, false],
  );
});
