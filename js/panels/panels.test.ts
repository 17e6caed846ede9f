// Small figures of the tables of a run, by hand.
import { expect, test } from "vitest";
import { inOrder, joined, panelsOf, ranges, share } from "./panels";

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

test("lengths of fewer than five draft tokens are joined, and alone they are marked", () => {
  const draft = (node: number, key_length: number, verdict: string) => ({
    round: 0,
    level: 1,
    node,
    parent: -1,
    depth: 1,
    source: "context",
    key_length,
    verdict,
  });
  const five = [0, 1, 2, 3, 4].map((node) => draft(node, 7, "accepted"));
  const run: any = {
    tokens: [],
    rounds: new Map(),
    drafts: new Map([[0, [draft(9, 2, "accepted"), draft(8, 2, "rejected"), ...five]]]),
    promptIds: [],
  };
  const { rows } = panelsOf(run, { words: String }, ["context"]).byMatch(1);
  expect(rows.map(({ label, cells, few }) => [label, cells[1], few])).toEqual([
    ["2–7", "86%", false],
  ]);
  run.drafts = new Map([[0, [draft(9, 2, "accepted"), draft(8, 2, "rejected")]]]);
  const [few] = panelsOf(run, { words: String }, ["context"]).byMatch(1).rows;
  expect([few.label, few.cells[1], few.few]).toEqual(["2", "50%", true]);
});

test("bins are joined from the left, and the last one with those before it", () => {
  const counts = [6, 1, 2, 3, 5, 1];
  const bins = counts.map((_, k): [number, number] => [k, k]);
  const countOf = ([first, last]: readonly [number, number]) =>
    counts.slice(first, last + 1).reduce((sum, count) => sum + count, 0);
  expect(joined(bins, countOf)).toEqual([
    [0, 0],
    [1, 3],
    [4, 5],
  ]);
});
