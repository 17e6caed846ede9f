// The text of a run: what is drawn for its characters.
import assert from "node:assert/strict";
import { test } from "vitest";
import { partsOf, promptPieces } from "./text";

const shown = (text) =>
  partsOf(text)
    .map((p) => p.shown)
    .join("");

test("hidden and reordering characters are code points; a lone mark has a circle", () => {
  assert.equal(shown("\u202eab\u200bc\u061c"), "‹U+202E›ab‹U+200B›c‹U+061C›");
  assert.equal(shown("a\u{e0041}b"), "a‹U+E0041›b");
  assert.equal(shown("x\ud83dy"), "x‹U+D83D›y");
  assert.equal(shown("\u0301a"), "◌\u0301a");
  assert.equal(shown("e\u0301"), "e\u0301");
  for (const text of ["👩‍👩‍👧", "שלום", "❤\ufe0f", "한국어"])
    assert.equal(shown(text), text, "text of other scripts is left alone");
});

test("bytes of the prompt that are a character together are drawn as one", () => {
  assert.deepEqual(promptPieces(["\\xe6", "\\x97\\xa5", "a"], "日a"), ["日", "", "a"]);
  assert.deepEqual(
    promptPieces(["x", "\\xe6", "\\x97", "\\xa5\\xe6", "\\x9c\\xac", "b"], "x日本b"),
    ["x", "日本", "", "", "", "b"],
  );
  assert.deepEqual(promptPieces([" \\xf0\\x9f", "\\x8e\\x89"], " 🎉"), [" 🎉", ""]);
});

test("what the prompt has written out remains, and so does what is not part of it", () => {
  assert.deepEqual(promptPieces(["\\xe6", "\\x97\\xa5"], "\\xe6\\x97\\xa5"), [
    "\\xe6",
    "\\x97\\xa5",
  ]);
  assert.deepEqual(promptPieces(["<s>", "a", "\\xe6\\x97", "\\xa5"], "a日"), [
    "<s>",
    "a",
    "日",
    "",
  ]);
  assert.deepEqual(promptPieces(["\\xe6", "\\xff"], "日"), ["\\xe6", "\\xff"]);
});
