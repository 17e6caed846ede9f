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
  assert.deepEqual(link, { d: "M10 53C10 66 110 64 110 77", head: "M106 71h8l-4 7z" });
});

test("a copy in the line of its source is reached over both", () => {
  const link = linkOf([box(0, 100)], [box(200, 100)], 400);
  assert.deepEqual(link, { d: "M10 100C10 88 210 88 210 97", head: "M206 91h8l-4 7z" });
});

test("a copy more than a line below is reached in the margin, at its nearer edge", () => {
  const far = [box(60, 300)];
  const left = linkOf([box(20, 0)], far, 400);
  assert.deepEqual(left, {
    d: "M-1 10H-7Q-10 10 -10 13V307Q-10 310 -7 310H-1",
    head: "M-1 310l-7 -4v8z",
  });
  const right = linkOf([box(360, 0)], far, 400);
  assert.deepEqual(right, {
    d: "M401 10H407Q410 10 410 13V307Q410 310 407 310H401",
    head: "M401 310l7 -4v8z",
  });
});

test("there is no line without a source or a copy", () => {
  assert.equal(linkOf([], [box(0, 0)], 400), null);
  assert.equal(linkOf([box(0, 0)], [box(0, 0, 0)], 400), null);
});
