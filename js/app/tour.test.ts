// What the tour says.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { RECORDED } from "../lib/testing";
import { STOPS, textOf } from "./tour";

test("every stop has its values in its recording", { skip: !Object.keys(RECORDED).length }, () => {
  for (const stop of STOPS) {
    const store = createStore();
    store.adopt(RECORDED[stop.recording]);
    assert.ok(store.index().events[stop.step], stop.key);
    const text = textOf(stop, store).join(" ");
    assert.doesNotMatch(text, /[{}]|undefined|NaN|“”| {2}/, stop.key);
  }
  const chance = STOPS.find((stop) => stop.key === "chance");
  const store = createStore();
  store.adopt(RECORDED.sampled);
  const row = store.index().events[chance.step].draft;
  assert.equal(row.verdict, "rejected");
  assert.match(textOf(chance, store).join(" "), new RegExp(`q\\s=\\s${row.q.toFixed(3)},`));
});
