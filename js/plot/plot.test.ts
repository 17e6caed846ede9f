// @vitest-environment happy-dom
// Charts: the room they have, and one library for a page.
import assert from "node:assert/strict";
import { beforeEach, test, vi } from "vitest";
import { modelOf } from "../lib/testing";
import { fitted } from ".";
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
