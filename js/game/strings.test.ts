// What the game says, and in which language.
import assert from "node:assert/strict";
import { test } from "vitest";
import { say } from "../lib/say";
import { ENGLISH, IN_ENGLISH, languageOf } from "./strings";

test("a text is filled with values, and English counts in the plural", () => {
  assert.equal(say(ENGLISH.copy, { words: 1 }), "Copy 1 word from above");
  assert.equal(say(ENGLISH.copy, { words: 3 }), "Copy 3 words from above");
  assert.equal(say(ENGLISH.card_line, { passes: 2 }), "in 2 passes of a language model.");
  assert.equal(say("{a} of {a} {b}", { a: 2, b: "{a}" }), "2 of 2 {a}");
  assert.throws(() => say(ENGLISH.copy), /no value for words/);
});

test("the language is the first that the browser prefers and the page has", () => {
  const languages = { "zh-CN": { ...IN_ENGLISH, name: "中文" } };
  assert.equal(languageOf(["zh-TW", "en"], languages), "zh-CN");
  assert.equal(languageOf(["fr", "zh"], languages), "zh-CN");
  assert.equal(languageOf(["en-GB", "zh-CN"], languages), "en");
  assert.equal(languageOf(["fr"], languages), "en");
});
