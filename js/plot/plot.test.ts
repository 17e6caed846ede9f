// @vitest-environment happy-dom
// Charts: the room they have, and one library for a page.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { modelOf } from "../lib/testing";
import { fitted } from "./fit";
import { libraryOf } from "./library";

beforeEach(() => {
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
});

const figure = () => ({
  data: [{ type: "bar", orientation: "h", name: "one", x: [1], y: [0] }],
  layout: {
    title: { text: "title" },
    height: 200,
    margin: { t: 60, b: 40, r: 100 },
    yaxis: { tickvals: [0], ticktext: ["a label that is<br>long"] },
    meta: { head: 54 },
  },
});

test("the page writes the heading; a wide one leaves the bars as they are", () => {
  const { data, layout } = fitted(figure(), 900);
  assert.deepEqual([layout.title, layout.width, layout.height, layout.margin?.t], [undefined, 900, 170, 30]);
  assert.equal(data.length, 1);
  const foreign = fitted({ data: [], layout: { title: { text: "mine" }, height: 300, margin: { t: 80 } } }, 500);
  assert.deepEqual([foreign.layout.title, foreign.layout.margin], [{ text: "mine" }, { t: 80 }]);
});

test("on a narrow page labels are above their bars, which have more room", () => {
  const { data, layout } = fitted(figure(), 420);
  const label = data[1] as { text: string[]; y: number[] };
  assert.deepEqual(label.text, ["a label that is · long"]);
  assert.ok(label.y[0] < 0 && (layout.height ?? 0) > 170);
  // A value beside its bar would take the bar's room.
  const value = { type: "scatter", mode: "text", x: [1], y: [0], text: ["  1.00 · a long description"] };
  const beside = fitted({ ...figure(), data: [...figure().data, value] }, 420);
  assert.deepEqual([value.x, value.text, beside.layout.margin?.r], [[0], ["1.00 · a long description"], 16]);
});

test("one chart asks for the library; if it goes first, the next one asks", () => {
  const models = [1, 2, 3].map(() => modelOf({ library: "test" }));
  const leaving = models.map((model) => libraryOf(model).leave);
  const asked = () => models.map((model) => model.sent.length);
  assert.deepEqual(asked(), [1, 0, 0]);
  leaving[1]();
  assert.deepEqual(asked(), [1, 0, 0]);
  leaving[0]();
  assert.deepEqual(asked(), [1, 0, 1]);
  assert.deepEqual(
    models.map((model) => model.heard()),
    [0, 0, 1],
  );
  leaving[2]();
});
