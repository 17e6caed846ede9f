// @vitest-environment happy-dom
// Charts: the room they have, and one library for a page.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { modelOf } from "../lib/testing";
import { fitted, move } from ".";
import { libraryOf, provide } from "./library";

beforeEach(() => {
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
});

test("the page writes the heading; a figure is as wide as its place, not too narrow", () => {
  const layout = () => ({
    title: { text: "t" },
    height: 200,
    margin: { t: 60, b: 40 },
    meta: { head: 54 },
  });
  const own = fitted(layout(), 900);
  assert.deepEqual(
    [own.title, own.width, own.height, own.margin],
    [undefined, 900, 170, { t: 30, b: 40 }],
  );
  assert.equal(fitted(layout(), 420).width, 640);
  const foreign = fitted({ title: { text: "mine" }, height: 300, margin: { t: 80 } }, 700);
  assert.deepEqual(
    [foreign.title, foreign.margin, foreign.height],
    [{ text: "mine" }, { t: 80 }, 300],
  );
});

test("one chart asks the kernel for the library, and none if the page has it", () => {
  const models = [1, 2].map(() => modelOf({ library: "test" }));
  for (const model of models) libraryOf(model);
  assert.deepEqual(
    models.map((model) => model.sent.length),
    [1, 0],
  );
  provide("own", async () => "plotly" as never);
  const model = modelOf({ library: "own" });
  libraryOf(model);
  assert.deepEqual(model.sent, []);
});

test("a step of a slider sets the values of each trace and gives back plotly's room", () => {
  const args = [{ y: [[3, 4], [5]] }, { annotations: [{ text: "second" }] }] as const;
  const steps = [
    { label: "a", args: [{}, {}] as const },
    { label: "b", args },
  ];
  const handle = { active: 0, currentvalue: { prefix: "n: " }, steps };
  const data = [{ y: [1, 2] }, { y: [0] }];
  const layout = { height: 400, margin: { b: 150 }, meta: { handle: 92 }, sliders: [handle] };
  const figure = { data, layout };

  move(figure as never, 1);

  assert.deepEqual(figure.data, [{ y: [3, 4] }, { y: [5] }]);
  assert.deepEqual([layout.height, layout.margin.b], [308, 58]);
  assert.deepEqual(figure.layout, { ...layout, sliders: [], annotations: [{ text: "second" }] });
});
