// Where the next token was, by hand; the same cases as tests/figures/test_semantic_figure.py.
import { expect, test } from "vitest";
import { wayOf, waysOf } from "./findable";

test.each([
  [[1, 2, 1], 2, true, "both"],
  [[1, 2, 1], 2, false, "tokens"],
  [[1, 9, 1, 2, 1, 3, 1, 4, 1, 5, 1], 9, true, "state"],
  [[1, 9, 1, 2, 1, 3, 1, 4, 1, 5, 1], 9, false, "missed"],
  [[1, 2, 1], 7, false, "absent"],
  // The longest suffix decides: after 3 1 came 4, not 2.
  [[1, 2, 3, 1, 4, 3, 1], 2, false, "missed"],
])("after %s the token %s, by state: %s", (text, token, byState, way) => {
  expect(wayOf(text as number[], token as number, byState as boolean)).toBe(way);
});

const draft = (round: number, token_id: number, cosine: number | null) => ({
  round,
  token_id,
  depth: 1,
  cosine,
});
const runOf = (cosine: number | null) =>
  ({
    promptIds: [1, 2, 1],
    tokens: [
      { round: 0, token_id: 2 },
      { round: 0, token_id: 1 },
      { round: 1, token_id: 8 },
    ],
    drafts: new Map([[0, [draft(0, 2, cosine)]]]),
  }) as any;

test("each round of the target is counted once, by its first token", () => {
  expect(waysOf(runOf(0.9))).toEqual({ both: 1, tokens: 0, state: 0, missed: 0, absent: 1 });
});

test("a run without a semantic database has no such table", () => {
  expect(waysOf(runOf(null))).toBeNull();
});
