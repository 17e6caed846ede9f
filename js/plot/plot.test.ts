// @vitest-environment happy-dom
// Charts: the points that keys step through, the room they have, and one library for a page.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { modelOf } from "../lib/testing";
import { fitted } from "./fit";
import { libraryOf } from "./library";
import { stepped, stopsOf } from "./stops";

beforeEach(() => {
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
});

test("the points of a curve are in the order of x, with their words; what does not answer is left out", () => {
  const { stops, columns } = stopsOf([
    { type: "scatter", x: [2, 1], y: [5, 6], customdata: ["two &lt;b>", "one<br>more"] },
    { type: "scatter", x: [0], y: [0], hoverinfo: "skip" },
    { type: "bar", name: "drafted", x: [3], y: [4] },
  ]);
  assert.deepEqual(
    stops.map((stop) => stop.words),
    ["one more", "two <b>", "drafted, 3: 4"],
  );
  assert.equal(columns, 0);
});

test("bars are read from the top, pane by pane", () => {
  const bar = (y: number[], xaxis = "x") => ({ type: "bar", orientation: "h", x: y, y, xaxis });
  const { stops, down } = stopsOf([bar([1, 0], "x2"), bar([1, 0])]);
  assert.deepEqual(
    stops.map((stop) => [stop.curveNumber, stop.y]),
    [
      [1, 0],
      [1, 1],
      [0, 0],
      [0, 1],
    ],
  );
  assert.equal(stepped("ArrowDown", 0, 0, down, 4), 1);
});

test("keys move over a map in both directions and stop at its border", () => {
  const text = [
    ["a", "b", "c"],
    ["d", "e", "f"],
  ];
  const { stops, columns, down } = stopsOf([{ type: "heatmap", x: [1, 2, 3], y: [10, 20], text }]);
  const walk = (keys: string[]) =>
    keys.reduce((at, key) => stepped(key, at, columns, down, stops.length) ?? Number.NaN, -1);
  assert.equal(stops[walk(["ArrowRight"])].words, "a");
  assert.equal(stops[walk(["Home", "ArrowRight", "ArrowUp"])].words, "e");
  assert.deepEqual(stops[walk(["Home", "ArrowRight", "ArrowUp"])].yval, 20);
  assert.equal(stops[walk(["Home", "ArrowRight", "ArrowRight", "ArrowRight"])].words, "c", "not into the next row");
  assert.equal(stops[walk(["End", "ArrowUp", "ArrowLeft"])].words, "e");
  assert.equal(stepped("x", 0, columns, down, 6), null);
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
