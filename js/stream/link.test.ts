// The line between a source and its copy: where it begins and ends.
import assert from "node:assert/strict";
import { test } from "vitest";
import { linesOf, linkOf } from "./link";

const box = (left: number, top: number, width = 20, height = 20) => ({
  left,
  right: left + width,
  top,
  bottom: top + height,
});

test("boxes of one line are one; a box without width is not drawn", () => {
  assert.deepEqual(linesOf([box(0, 0), box(20, 2), box(0, 30, 0), box(0, 30)]), [
    { left: 0, right: 40, top: 0, bottom: 22 },
    box(0, 30),
  ]);
});

test("a copy below its source is reached from the last line of the source to its own first", () => {
  const link = linkOf([box(90, 0), box(0, 30)], [box(100, 80), box(0, 110)], 400);
  assert.deepEqual(link, { d: "M10 53C10 69 110 61 110 77", x: 110, y: 77 });
});

test("a copy in the line of its source is reached over both", () => {
  const link = linkOf([box(0, 100)], [box(200, 100)], 400);
  assert.deepEqual(link, { d: "M10 100C10 81 210 81 210 97", x: 210, y: 97 });
});

test("a copy more than a line below is reached beside the text, at its nearer edge", () => {
  const far = [box(60, 300)];
  const left = linkOf([box(20, 0)], far, 400);
  assert.match(left?.d ?? "", /^M30 23V26H-1Q-6 26 -6 31V285Q-6 290 -1 290H70V297$/);
  const right = linkOf([box(360, 0)], far, 400);
  assert.match(right?.d ?? "", /H401Q406 26 406 31/);
});

test("there is no line without a source or a copy", () => {
  assert.equal(linkOf([], [box(0, 0)], 400), null);
  assert.equal(linkOf([box(0, 0)], [box(0, 0, 0)], 400), null);
});
