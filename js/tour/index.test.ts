// What the tour says; the links that the page gives away.
import assert from "node:assert/strict";
import { test } from "vitest";
import { linkTo } from "../app/address";
import { STOPS, stepOf, textOf } from "../app/tour";
import { createStore } from "../lib/run";
import { RECORDED } from "../lib/testing";

test("a link holds the recording, the step as people count it, the dark theme, and nothing else of the page's address", () => {
  const page = "http://user:secret@127.0.0.1:8866/voila/render/x.ipynb?token=abc&trace=old&step=9#top";
  assert.equal(
    linkTo(page, "one-draft", 4, true),
    "http://127.0.0.1:8866/voila/render/x.ipynb?trace=one-draft&step=5&theme=dark",
  );
  assert.equal(linkTo("http://127.0.0.1:8866/", "both", -1, false), "http://127.0.0.1:8866/?trace=both");
});

test("every stop has its values in its recording", { skip: !Object.keys(RECORDED).length }, () => {
  for (const stop of STOPS) {
    const store = createStore();
    store.adopt(RECORDED[stop.recording]);
    assert.ok(store.index().events[stepOf(stop, store)], stop.key);
    const text = textOf(stop, store).join(" ");
    assert.doesNotMatch(text, /[{}]|undefined|NaN|“”| {2}/, stop.key);
  }
  const chance = STOPS.find((stop) => stop.key === "chance");
  const store = createStore();
  store.adopt(RECORDED.sampled);
  const row = store.index().events[stepOf(chance, store)].draft;
  assert.equal(row.verdict, "rejected");
  assert.match(textOf(chance, store).join(" "), new RegExp(`q\\s=\\s${row.q.toFixed(3)},`));
});
