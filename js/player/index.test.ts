// What the player's bar shows of a run.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { small } from "../lib/testing";
import { stepAt, tracks } from "./index";

test("emitted tokens are high in their source's colour, rejected ones low, and a draft is a gap", () => {
  const store = createStore();
  store.adopt(small());
  const { by, rounds } = tracks(store.index(), store.tokens, (s) => s);
  assert.deepEqual(rounds, [0, 4]);
  assert.deepEqual(by.get("nano"), { kept: "M1 24v-20h1v20z", refused: "M2 24v-7h1v7z" });
  assert.deepEqual(by.get("target"), { kept: "M3 24v-20h1v20zM4 24v-20h1v20z", refused: "" });
});

test("a pointer on the bar selects an event, also beyond its ends", () => {
  const box = { left: 100, width: 50 };
  assert.deepEqual(
    [90, 100, 109, 110, 149, 400].map((x) => stepAt(x, box, 5)),
    [0, 0, 0, 1, 4, 4],
  );
  assert.equal(stepAt(3, { left: 0, width: 0 }, 5), 4);
});
