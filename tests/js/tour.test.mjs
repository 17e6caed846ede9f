// Where the tour scrolls, and the links that the page gives away.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const { scrollBy } = await load("tour.js");
const { linkTo } = await load("address.js");

test("what stands in the free part of the window stays where it is, all else comes there, from its top if it is too high", () => {
  const free = { top: 10, bottom: 410 };
  const at = (top, high) => scrollBy({ top, bottom: top + high }, free);
  assert.deepEqual([at(10, 400), at(100, 20)], [0, 0]);
  assert.deepEqual([at(-50, 100), at(400, 100)], [-60, 90]);
  assert.deepEqual([at(0, 500), at(300, 500)], [-10, 290]);
});

test("a link holds the recording, the step as people count it, the dark theme, and nothing else of the page's address", () => {
  const page = "http://user:secret@127.0.0.1:8866/voila/render/x.ipynb?token=abc&trace=old&step=9#top";
  assert.equal(linkTo(page, "one-draft", 4, true), "http://127.0.0.1:8866/voila/render/x.ipynb?trace=one-draft&step=5&theme=dark");
  assert.equal(linkTo("http://127.0.0.1:8866/", "both", -1, false), "http://127.0.0.1:8866/?trace=both");
});
