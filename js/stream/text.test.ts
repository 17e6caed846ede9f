// The text of a run: what is drawn for its characters.
import assert from "node:assert/strict";
import { test } from "vitest";
import { characterOf, cutAt, endsLine, partsOf, promptPieces } from "./text";

const shown = (text, ...more) =>
  partsOf(text, ...more)
    .map((p) => p.shown)
    .join("");
const classes = (text, ...more) =>
  partsOf(text, ...more)
    .filter((p) => p.cls)
    .map((p) => `${p.cls}:${p.glyph}`);
const STRANGE = [
  "",
  "abc",
  " \t\n",
  "\n\n    x  \n",
  "a\u00a0 b",
  "\u202eabc",
  "\u0301a",
  "👩‍👩‍👧",
  "\ud83d",
  "x\ud83dy",
  "\u{e0041}",
  "שלום",
  "\u3000",
  "e\u0301",
  "\ufe0f",
];

test("parts follow one another without a gap, in both ways of drawing", () => {
  for (const text of STRANGE) {
    for (const all of [false, true]) {
      let at = 0;
      for (const part of partsOf(text, all)) {
        assert.equal(part.from, at, JSON.stringify(text));
        at = part.to;
        if (!part.cls || part.glyph) assert.equal(part.shown, text.slice(part.from, part.to));
      }
      assert.equal(at, text.length);
    }
  }
});

test("a part is cut where it is asked, unless a character of it is shown as several", () => {
  const cut = (text, at, all) => cutAt(partsOf(text, all), at).map((p) => p.shown + p.glyph);
  assert.deepEqual(cut(" node", 1), [" ", "node"]);
  assert.deepEqual(cut("   x", 2, true), ["  ··", " ·", "x"]);
  assert.deepEqual([cut("ab", 0), cut("ab", 2), cut("\u202e", 0.5)], [["ab"], ["ab"], ["‹U+202E›"]]);
});

test("hidden and reordering characters are code points; a lone combining mark has a circle as its base", () => {
  assert.equal(shown("\u202eab\u200bc\u061c"), "‹U+202E›ab‹U+200B›c‹U+061C›");
  assert.equal(shown("a\u{e0041}b"), "a‹U+E0041›b");
  assert.equal(shown("x\ud83dy"), "x‹U+D83D›y");
  assert.equal(shown("\u0301a"), "◌\u0301a");
  assert.equal(shown("e\u0301"), "e\u0301");
  for (const text of ["👩‍👩‍👧", "שלום", "❤\ufe0f", "한국어"])
    assert.equal(shown(text), text, "text of other scripts is left alone");
});

test("asked for, every blank is seen: dots, arrows, and code points for those that have no glyph", () => {
  assert.deepEqual(classes("  x \t\u00a0"), []);
  assert.deepEqual(classes("  x \t\u00a0", true), ["hsd-blank:··", "hsd-blank:·", "hsd-tab:⇥", "hsd-blank:°"]);
  assert.equal(shown("a\u3000b👩‍👩", true), "a‹U+3000›b👩‹U+200D›👩");
  assert.deepEqual(classes("\n"), ["hsd-nl:↵"]);
});

test("trailing blanks are distinguished from those within a line, also where the line ends in another token", () => {
  assert.deepEqual(classes("a  \n b ", true), ["hsd-blank hsd-trailing:··", "hsd-nl:↵", "hsd-blank:·", "hsd-blank:·"]);
  assert.deepEqual(classes("b \t", true, true), ["hsd-blank hsd-trailing:·", "hsd-tab hsd-trailing:⇥"]);
  assert.deepEqual(classes(" b", true, true), ["hsd-blank:·"]);
  const tokens = [" ", "\t ", "  \n", " ", "x", " "].map((text) => ({ text }));
  assert.deepEqual(
    tokens.map((_, i) => endsLine(tokens, i)),
    [true, true, false, false, false, false],
  );
});

test("bytes of the prompt that are a character together are drawn as one", () => {
  assert.deepEqual(promptPieces(["\\xe6", "\\x97\\xa5", "a"], "日a"), ["日", "", "a"]);
  assert.deepEqual(promptPieces(["x", "\\xe6", "\\x97", "\\xa5\\xe6", "\\x9c\\xac", "b"], "x日本b"), [
    "x",
    "日本",
    "",
    "",
    "",
    "b",
  ]);
  assert.deepEqual(promptPieces([" \\xf0\\x9f", "\\x8e\\x89"], " 🎉"), [" 🎉", ""]);
});

test("what the prompt has written out remains, and so does what is not part of it", () => {
  assert.deepEqual(promptPieces(["\\xe6", "\\x97\\xa5"], "\\xe6\\x97\\xa5"), ["\\xe6", "\\x97\\xa5"]);
  assert.deepEqual(promptPieces(["<s>", "a", "\\xe6\\x97", "\\xa5"], "a日"), ["<s>", "a", "日", ""]);
  assert.deepEqual(promptPieces(["\\xe6", "\\xff"], "日"), ["\\xe6", "\\xff"]);
});

test("a token of bytes knows its character and the tokens that write it", () => {
  const tokens = [null, "e6", "97a5", "e69c", null, "ff"].map((raw) => ({ raw }));
  assert.deepEqual(characterOf(tokens, 1), { text: "日", from: 1, to: 2 });
  assert.deepEqual(characterOf(tokens, 2), { text: "日", from: 1, to: 2 });
  assert.equal(characterOf(tokens, 3), null);
  assert.equal(characterOf(tokens, 5), null);
});
