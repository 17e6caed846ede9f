// The metrics of a run that is small enough to work out on paper: the one of
// tests/trace/test_metrics.py.
import { expect, test } from "vitest";
import { callSums, countsBy, gainOf, metricsOf } from "./metrics";

const call = (round: number, level: number, name: string, kind: string, fed: number, ns: number) =>
  ({ round, level, name, kind, steps: 1, fed, cached: 0, start_ns: 0, duration_ns: ns }) as any;
const round = (
  id: number,
  parent: number | null,
  level: number,
  drafted: number,
  examined: number,
  accepted: number,
) =>
  ({
    id,
    parent,
    level,
    drafted,
    examined,
    accepted,
    outcome: "",
    start_ns: 2000 + id,
    duration_ns: 15_000,
  }) as any;

/**
 * A target's round that served itself with two rounds of a model between it and a database, in 20
 * µs after 1 µs of prefill.
 */
const RUN: any = {
  tokens: [
    { token_id: 1, kind: "accepted", source: "context" },
    { token_id: 2, kind: "correction", source: "target" },
  ],
  rounds: new Map([
    [0, round(0, null, 2, 2, 2, 1)],
    [1, round(1, 0, 1, 1, 1, 1)],
    [2, round(2, 0, 1, 1, 1, 0)],
  ]),
  order: new Map(),
  drafts: new Map([
    [0, [{ source: "context" }, { source: "m" }]],
    [1, [{ source: "context" }]],
    [2, [{ source: "context" }]],
  ]),
  calls: [
    call(-1, 2, "target", "prefill", 9, 900),
    call(1, 0, "db", "lookup", 1, 100),
    call(1, 1, "m", "verify", 2, 1000),
    call(2, 0, "db", "lookup", 1, 200),
    call(2, 1, "m", "verify", 3, 3000),
    call(0, 2, "target", "verify", 3, 2500),
    call(0, 0, "db", "update", 2, 300),
  ],
  meta: { prefill_ns: 1000, wall_ns: 21_000 },
};

test.each([
  ["tokens", 2],
  ["rounds", 1],
  ["drafted", 2],
  ["accepted", 1],
  ["acceptance_rate", 1 / 2],
  ["conditional_acceptance", 1 / 2],
  ["target_forwards", 1],
  ["mean_acceptance_length", 2],
  ["seconds", 20e-6],
  ["prefill_seconds", 1e-6],
  ["tokens_per_second", 2 / 20e-6],
  ["draft_seconds_per_round", 600e-9],
  ["repetition_share", 0],
  ["drafted_by_source", { context: 1, m: 1 }],
  ["accepted_by_source", { context: 1 }],
  ["emitted_by_source", { context: 1, target: 1 }],
] as const)("%s of a hierarchy by hand", (name, value) => {
  const metric = metricsOf(RUN)[name];
  if (typeof value === "number") expect(metric).toBeCloseTo(value, 12);
  else expect(metric).toEqual(value);
});

test("levels of a hierarchy by hand", () => {
  const [middle, target] = metricsOf(RUN).levels;
  expect(middle).toEqual({
    level: 1,
    rounds: 2,
    drafted: 2,
    examined: 2,
    accepted: 1,
    acceptance_rate: 0.5,
    conditional_acceptance: 0.5,
    accepted_histogram: [1, 1],
  });
  expect(target.accepted_histogram).toEqual([0, 1]);
});

test("calls of a hierarchy by hand", () => {
  const sums = callSums(RUN.calls).map((c) => [
    c.level,
    c.name,
    c.kind,
    c.calls,
    c.steps,
    c.fed,
    c.seconds * 1e9,
  ]);
  expect(sums.map((row) => row.slice(0, 6))).toEqual([
    [0, "db", "lookup", 2, 2, 2],
    [0, "db", "update", 1, 1, 2],
    [1, "m", "verify", 2, 2, 5],
    [2, "target", "prefill", 1, 1, 9],
    [2, "target", "verify", 1, 1, 3],
  ]);
  const expected = [300, 300, 4000, 900, 2500];
  sums.forEach((row, k) => {
    expect(row[6]).toBeCloseTo(expected[k], 6);
  });
});

test("steps of a launch are summed", () => {
  const launch = { ...call(0, 0, "nano", "draft", 3, 10), steps: 3 };
  expect(callSums([launch, launch])[0]).toMatchObject({ calls: 2, steps: 6, fed: 6 });
});

test("a run in progress is timed to the end of its last round, its prefill by its calls", () => {
  const metrics = metricsOf({ ...RUN, meta: {} });
  // One round of the target, of 15 µs; 0.9 µs of prefill.
  expect(metrics.seconds).toBeCloseTo(15e-6, 12);
  expect(metrics.prefill_seconds).toBeCloseTo(0.9e-6, 12);
});

test("items are counted by their key", () => {
  expect(countsBy(["a", "b", "a"], (item) => item)).toEqual({ a: 2, b: 1 });
});

test.each([
  ["one pair: the run over plain decoding", { tokens_per_second: 80_000 }, 1.25],
  ["the middle of three", { tokens_per_second: 1, speedups: [1.5, 0.5, 1] }, 1],
  [
    "the mean of the middle two of four",
    { tokens_per_second: 1, speedups: [2, 0.5, 1, 1.5] },
    1.25,
  ],
])("the speed-up of %s", (_, plain, value) => {
  expect(gainOf({ ...RUN, meta: { ...RUN.meta, plain } })?.value).toBeCloseTo(value, 12);
});
test("a speed-up is not measured without plain decoding", () => {
  expect(gainOf(RUN)).toBe(null);
});
