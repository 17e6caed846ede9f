// What the tour says.
import assert from "node:assert/strict";
import { test } from "vitest";
import { storeOf } from "../lib/run";
import { RECORDED } from "../lib/testing";
import { STOPS, textOf } from "./tour";

test("every stop is at its event, and has its values", {
  skip: !Object.keys(RECORDED).length,
}, () => {
  for (const stop of STOPS) {
    const event = storeOf(RECORDED[stop.recording]).index().events[stop.step];
    assert.ok(event, stop.key);
    assert.doesNotMatch(textOf(stop).join(" "), /[{}]|undefined|NaN|None|“”| {2}/, stop.key);
    // The tool numbers events as the page does.
    assert.equal(stop.values.q ?? event.draft?.q?.toFixed(3), event.draft?.q?.toFixed(3));
    if (stop.values.draft)
      assert.equal(stop.values.source ?? event.draft?.source, event.draft?.source);
  }
});
