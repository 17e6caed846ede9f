// Small figures of the tables of a run, by hand.
import { expect, test } from "vitest";
import { inOrder, ranges, share } from "./panels";

test.each([
  [2, 3, "67%"],
  [1, 3, "33%"],
  [0, 3, "0%"],
  [1, 0, "–"],
])("%s of %s is %s", (over, under, words) => {
  expect(share(over, under)).toBe(words);
});

test("whole numbers are binned to at most 20 rows of one width", () => {
  expect(ranges([3, 5, 4])).toEqual([
    [3, 3],
    [4, 4],
    [5, 5],
  ]);
  const bins = ranges([1, 41]);
  expect(bins.length).toBe(14);
  expect([bins[0], bins.at(-1)]).toEqual([
    [1, 3],
    [40, 41],
  ]);
  expect(ranges([])).toEqual([]);
});

test("databases come in their order, the target last, others by name", () => {
  expect(inOrder(["target", "small", "model", "nano", "context"], ["context", "model"])).toEqual([
    ...["context", "model", "nano", "small", "target"],
  ]);
});
