// The tiles above a run, by hand: their values, and when a speed-up is shown.
import { expect, test } from "vitest";
import { tilesOf } from "./readout";
import { speedFirst } from "./runbar";

/**
 * Eight tokens in four rounds and 40 µs: of six draft tokens five are examined and four accepted; 8
 * µs of look-ups.
 */
const run = (plain: unknown, stack = "db > target"): any => ({
  tokens: Array.from({ length: 8 }, (_, k) => ({
    token_id: k,
    kind: k < 4 ? "accepted" : "correction",
    source: "context",
  })),
  rounds: new Map(
    [2, 2, 1, 1].map((drafted, id) => [
      id,
      {
        id,
        parent: null,
        level: 1,
        drafted,
        examined: id ? drafted : 1,
        accepted: 1,
        start_ns: id,
        duration_ns: 1,
      },
    ]),
  ),
  order: new Map(),
  drafts: new Map(),
  calls: [
    ...[0, 1, 2, 3].map(() => ({
      level: 1,
      name: "target",
      kind: "verify",
      steps: 1,
      fed: 1,
      duration_ns: 5000,
    })),
    { level: 0, name: "db", kind: "lookup", steps: 1, fed: 1, duration_ns: 8000 },
  ],
  meta: { stack, sampling: {}, prefill_ns: 1000, wall_ns: 41_000, plain },
});
const valuesOf = (of: any) =>
  Object.fromEntries(tilesOf(of).map(([label, value]) => [label, value]));

test("values of the tiles", () => {
  expect(valuesOf(run({ tokens_per_second: 125_000 }))).toEqual({
    Speed: "200000",
    "Speed-up": "1.60",
    "Mean acceptance length": "2.00",
    // Accepted of drafted, not of examined.
    "Acceptance rate": "67%",
    "Drafting latency": "2",
  });
});

test.each([
  ["the median of pairs", run({ tokens_per_second: 125_000, speedups: [1.2, 1.9, 1.5] }), "1.50"],
  ["none that the tokens per pass do not allow", run({ tokens_per_second: 50_000 }), "–"],
  ["none of plain decoding", run({ tokens_per_second: 125_000 }, "target"), "–"],
  ["none that was not measured", run(null), "–"],
])("a speed-up is %s", (_, of, value) => {
  expect(valuesOf(of)["Speed-up"]).toBe(value);
});

const noteOf = (of: any) => tilesOf(of).find(([label]) => label === "Speed-up")?.[3];
/** The run of 200 000 tokens/s, whose text does not repeat itself. */
test.each([
  ["of one pair", { tokens_per_second: 125_000 }, "over plain decoding: 125000 tokens/s"],
  [
    "of several pairs",
    { tokens_per_second: 125_000, speedups: [1.6, 1.9, 1.8] },
    "median of 3 pairs; the pair of this run: 1.60× over 125000 tokens/s",
  ],
  [
    "of several pairs, the first of which was disturbed",
    { tokens_per_second: 50_000, speedups: [4, 1.9, 1.8] },
    "median of 3 pairs; the pair of this run was disturbed",
  ],
])("the speeds beside a speed-up %s divide to the one they are named for", (_, plain, note) => {
  expect(noteOf(run(plain))).toBe(note);
});

test("the speed-up of a title is before what may be cut", () => {
  expect(speedFirst("A summary (1.62×)")).toBe("1.62× A summary");
  expect(speedFirst("nano, sampled (0.59×, slower than plain)")).toBe("0.59× nano, sampled");
  expect(speedFirst("Plain decoding")).toBe("Plain decoding");
});
