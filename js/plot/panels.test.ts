// Panels on a narrow page: where they and their titles are.
import assert from "node:assert/strict";
import { test } from "vitest";
import { type Panels, stack } from "./panels";

const panels = (): Panels => ({
  width: 640,
  height: 400,
  margin: { t: 50, r: 20, b: 50 },
  xaxis: { domain: [0, 0.49], anchor: "y" },
  yaxis: { domain: [0, 1] },
  xaxis2: { domain: [0.51, 1], anchor: "y2" },
  yaxis2: { domain: [0, 1], showticklabels: false },
  annotations: [
    { xref: "paper", x: 0.25, y: 1 },
    { xref: "paper", x: 0.75, y: 1 },
  ],
});

test("panels are below each other, each with its title and its numbers", () => {
  const layout = panels();
  stack(layout, 390);
  // Two panels of 300 pixels with 84 between them.
  const share = (pixels: number) => pixels / 684;
  assert.equal(layout.height, 784);
  assert.equal(layout.width, 390);
  assert.deepEqual(layout.xaxis2.domain, [0, 1]);
  assert.deepEqual(layout.yaxis.domain, [share(384), 1]);
  assert.deepEqual(layout.yaxis2, { domain: [0, share(300)], showticklabels: true });
  assert.deepEqual(
    layout.annotations?.map(({ x, y }) => [x, y]),
    [
      [0.5, 1],
      [0.5, share(300)],
    ],
  );
});

test("a figure of one panel stays as it is", () => {
  const { xaxis, yaxis } = panels();
  const layout: Panels = { width: 640, xaxis, yaxis };
  stack(layout, 390);
  assert.deepEqual(layout, { width: 640, xaxis, yaxis });
});
