// The bars of the players, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { storeOf } from "../lib/run";
import { round, snapshot, token } from "../lib/testing";
import { barOf, roomOf } from "./bars";
import type { GameText } from "./play";

test("a bar has a cell for each token, the model's own at the end of a pass", () => {
  const passes = [
    { tokens: 4, width: 5, drafting: 0, filled: [false, true, false] },
    { tokens: 1, width: 1, drafting: 0 },
    { tokens: 2, width: 3, drafting: 0 },
  ];
  assert.deepEqual(barOf(passes), ["you", "filled", "you", "own", "own", "you", "own"]);
  assert.deepEqual(barOf([]), []);
});

/** A text of six tokens, of which a comma is filled in; the first one is given. */
function textOf(others: GameText["others"]): GameText {
  const words = ["The", " cat", ",", " sat", " down", "."];
  const plain = snapshot({
    rounds: [round(1)],
    tokens: words.map((text, id) => token(1, "plain", { text, id })),
  });
  const text = { name: "own", given: "The", passes: 2, plain: storeOf(plain as any), others };
  return text as unknown as GameText;
}

test("the bars of a text have room for the rest of it, or for the best other player", () => {
  assert.equal(roomOf(textOf([])), 5, "with the comma and the point");
  const long = snapshot({
    rounds: [round(1), round(2)],
    tokens: Array.from({ length: 9 }, (_, id) => token(id < 1 ? 1 : 2, "accepted", { id })),
  });
  const others = [{ name: "copying", source: "context", run: storeOf(long as any) }];
  assert.equal(roomOf(textOf(others)), 8, "a pass of eight tokens");
});
