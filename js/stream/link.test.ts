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
  const link = linkOf([box(90, 0), box(0, 30)], [box(100, 130), box(0, 160)], 400);
  assert.deepEqual(link, { d: "M10 52C10 94 110 86 110 128", x: 110, y: 128 });
});

test("a copy in the line of its source is reached over both", () => {
  const link = linkOf([box(0, 100)], [box(200, 100)], 400);
  assert.deepEqual(link, { d: "M10 100C10 82 210 82 210 98", x: 210, y: 98 });
});

test("a copy far below is reached beside the text, at its nearer edge", () => {
  const far = [box(60, 300)];
  const left = linkOf([box(20, 0)], far, 400);
  assert.match(left?.d ?? "", /^M30 22V24H-1Q-6 24 -6 29V287Q-6 292 -1 292H70V298$/);
  const right = linkOf([box(360, 0)], far, 400);
  assert.match(right?.d ?? "", /H401Q406 24 406 29/);
});

test("there is no line without a source or a copy", () => {
  assert.equal(linkOf([], [box(0, 0)], 400), null);
  assert.equal(linkOf([box(0, 0)], [box(0, 0, 0)], 400), null);
});
