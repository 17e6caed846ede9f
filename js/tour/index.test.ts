// Where the tour scrolls, and what it says; the links that the page gives away.
import assert from "node:assert/strict";
import { test } from "vitest";
import { linkTo } from "../app/address";
import { STOPS, stepOf, textOf } from "../app/tour";
import { createStore } from "../lib/run";
import { RECORDED } from "../lib/testing";
import { cardHeight, scrollBy } from "./index";

test("an element in the free part of the window stays there", () => {
  const free = { top: 10, bottom: 410 };
  const at = (top, high) => scrollBy({ top, bottom: top + high }, free);
  assert.deepEqual([at(70, 20), at(100, 200), at(10, 400)], [0, 0, 0]);
});

test("all else comes there: small things to the middle, high ones with room around them, the highest from their top", () => {
  const free = { top: 10, bottom: 410 };
  const after = (top, high) => top - scrollBy({ top, bottom: top + high }, free);
  assert.deepEqual([after(-500, 20), after(900, 20), after(12, 20)], [200, 200, 200]);
  assert.deepEqual([after(-500, 200), after(900, 200)], [66, 154]);
  assert.deepEqual([after(-500, 390), after(900, 390)], [15, 15]);
  assert.deepEqual([after(-500, 900), after(900, 900)], [10, 10]);
});

test("a card that covers something makes itself small, as far as it can be read, and only where that helps", () => {
  assert.equal(cardHeight(200, 700, 280), 0, "there is room for both");
  assert.equal(cardHeight(456, 700, 280), 220);
  assert.equal(cardHeight(456, 610, 280), 130);
  assert.equal(cardHeight(456, 560, 280), 0, "smaller it could not be read");
  assert.equal(cardHeight(900, 700, 280), 0, "and what is higher than the window is covered anyway");
});

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
