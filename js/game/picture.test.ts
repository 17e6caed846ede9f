// @vitest-environment happy-dom
// The picture of the stairs while it turns from passes to time.
import assert from "node:assert/strict";
import { render } from "lit-html";
import { test } from "vitest";
import { stairsPicture } from "./picture";
import { ENGLISH } from "./strings";

const player = (name: string, tokens: number, width: number) => ({
  name,
  source: name,
  passes: [{ tokens, width, drafting: 0 }],
});

/** The title of the axis, its numbers, and the names of the players. */
function shown(isTimed: boolean, morph: number) {
  const el = document.createElement("div");
  const stairs = {
    players: [player("You", 4, 5), player("Plain", 1, 1)],
    price: { one: 100, more: 0.5 },
    width: 600,
    isNarrow: false,
    height: 250,
    isTimed,
    morph,
    family: String,
    bands: [1],
    strings: ENGLISH,
  };
  render(stairsPicture(stairs), el);
  const texts = (selector: string) =>
    [...el.querySelectorAll(selector)].map((text) => text.textContent?.trim());
  const across = texts('.hsd-tick[text-anchor="middle"]');
  return { title: texts(".hsd-axis").find((text) => text?.match(/passes/)), across };
}

test("the axis says time before the stairs turn, and has its numbers after them", () => {
  assert.equal(shown(false, 0).title, "passes of the model");
  assert.deepEqual(shown(false, 0).across, ["0", "1", "2", "3"]);
  for (const morph of [0, 0.3, 0.9])
    assert.deepEqual(shown(true, morph), { title: "time, in plain passes", across: [] });
  assert.equal(shown(true, 1).title, "time, in plain passes");
  assert.ok(shown(true, 1).across.length > 0);
});
