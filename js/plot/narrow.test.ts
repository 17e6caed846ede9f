// Bars on a narrow page: where labels, values and bars are.
import assert from "node:assert/strict";
import { test } from "vitest";
import { type Bars, narrow } from "./narrow";

const figureOf = (label: string, value: string): Bars => ({
  data: [
    { type: "bar", name: "database", width: 0.62 },
    { type: "scatter", mode: "text", y: [0, 1], text: ["  1.00 ×", `  ${value}`] },
  ],
  layout: {
    width: 640,
    height: 300,
    margin: { t: 30, r: 200, b: 76 },
    meta: {
      rows: [
        [0, "target"],
        [1, label],
      ],
    },
  },
});
const written = ({ layout }: Bars) => layout.annotations as Record<string, unknown>[];

test("labels are above bars at the left, values in a column at the right", () => {
  const figure = figureOf("db > target", "1.12 × · 1.09 to 1.17");
  narrow(figure, 390);
  assert.deepEqual(
    written(figure).map(({ text, x, xanchor, y }) => [text, x, xanchor, y]),
    [
      ["target", 0, "left", 0],
      ["1.00 ×", 1, "right", 0],
      ["db > target", 0, "left", 1],
      ["1.12 × · 1.09 to 1.17", 1, "right", 1],
    ],
  );
  assert.equal(figure.layout.width, 390);
  assert.deepEqual(figure.layout.margin, { t: 30, l: 8, r: 16, b: 76 });
  // Nothing is beside the bars, and these leave room for the line above them.
  assert.deepEqual(
    figure.data.map(({ mode, width }) => [mode, width]),
    [[undefined, 12 / 40]],
  );
});

test("a label and a value too long for one line have a line each", () => {
  const figure = figureOf("databases below a draft model of the target", "1.12 × · 1.09 to 1.17");
  narrow(figure, 390);
  const [, , name, value] = written(figure);
  assert.deepEqual([name.yshift, value.yshift], [23, 7]);
});

test("another figure keeps its form", () => {
  const figure: Bars = { data: [{ mode: "text" }], layout: { width: 640 } };
  narrow(figure, 390);
  assert.deepEqual(figure, { data: [{ mode: "text" }], layout: { width: 640 } });
});
