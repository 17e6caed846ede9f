// The table of a comparison, by hand: values, differences to the first run, and times that sum to
// the whole.
import { expect, test } from "vitest";
import { doubtsOf, tableOf } from "./compare";

const call = (level: number, name: string, kind: string, us: number) =>
  ({ level, name, kind, steps: 1, fed: 1, duration_ns: us * 1e3 }) as any;
/** Four tokens of one round each in 40 µs. */
const PLAIN: any = {
  letter: "A",
  tokens: Array.from({ length: 4 }, (_, k) => ({
    token_id: k,
    kind: "plain",
    source: "target",
    p: 0.5,
  })),
  rounds: new Map(
    [0, 1, 2, 3].map((id) => [
      id,
      { id, parent: null, level: 0, drafted: 0, examined: 0, accepted: 0 },
    ]),
  ),
  order: new Map([0, 1, 2, 3].map((id) => [id, id + 1])),
  drafts: new Map(),
  calls: [0, 1, 2, 3].map(() => call(0, "target", "verify", 9)),
  meta: { stack: "target", sampling: {}, prefill_ns: 0, wall_ns: 40_000, device: "cpu" },
};
/** The same text in one round of 20 µs: three draft tokens, all accepted, and a bonus token. */
const FAST: any = {
  letter: "B",
  tokens: [0.5, 0.5, 0.5, 0.125].map((p, k) => ({
    token_id: k,
    kind: k < 3 ? "accepted" : "bonus",
    source: k < 3 ? "context" : "target",
    p,
  })),
  rounds: new Map([[0, { id: 0, parent: null, level: 1, drafted: 4, examined: 3, accepted: 3 }]]),
  order: new Map([[0, 1]]),
  drafts: new Map([[0, [1, 2, 3, 4].map(() => ({ source: "context" }))]]),
  calls: [
    call(1, "target", "prefill", 1),
    call(0, "db", "lookup", 2),
    call(1, "target", "verify", 14),
    call(0, "db", "update", 1),
  ],
  meta: { stack: "db > target", sampling: {}, prefill_ns: 1000, wall_ns: 21_000, device: "cpu" },
};

const rows = (runs: any[]) => new Map(tableOf(runs).map((row) => [row.name, row.cells] as const));

test.each([
  ["Speed", "100000 tokens/s", "200000 tokens/s", "2.00 × A"],
  ["Target forward passes", "4", "1", "−3"],
  ["Mean acceptance length", "1.00", "4.00", "+3.00"],
  ["Acceptance rate", "–", "75%", ""],
  ["Repetition", "0%", "0%", "±0 points"],
  ["Drafting latency", "–", "3.00 µs", ""],
  // Three of log 1/2 and one of log 1/8: -1.04 instead of -0.69.
  ["Mean log-probability", "−0.69", "−1.04", "−0.35"],
  ["Time per token", "10.0 µs", "5.00 µs", "−5.00 µs"],
  ["Decoding", "40.0 µs", "20.0 µs", "−20.0 µs"],
  ["in target", "36.0 µs", "14.0 µs", "−22.0 µs"],
  ["in db", "–", "3.00 µs", ""],
  ["between calls", "4.00 µs", "3.00 µs", "−1.00 µs"],
])("%s", (name, first, second, difference) => {
  const [a, b] = rows([PLAIN, FAST]).get(name) ?? [];
  expect([a?.value, a?.difference, b?.value, b?.difference]).toEqual([
    first,
    "",
    second,
    difference,
  ]);
});

test("sums over texts of other lengths have no difference, rates have", () => {
  const longer = { ...FAST, tokens: [...FAST.tokens, FAST.tokens[3]] };
  const table = rows([PLAIN, longer]);
  const difference = (name: string) => table.get(name)?.[1].difference;
  const sums = ["Target forward passes", "Decoding", "in target", "between calls"];
  expect(sums.map(difference)).toEqual(["", "", "", ""]);
  expect(difference("Time per token")).toBe("−6.00 µs");
});

test("speeds are compared with plain decoding, not with the slowest run", () => {
  const slow = { ...FAST, letter: "C", meta: { ...FAST.meta, wall_ns: 161_000 } };
  expect(doubtsOf([PLAIN, FAST, slow])).toEqual([]);
});

test("a run that is faster than its tokens per pass allow is doubted", () => {
  expect(doubtsOf([PLAIN, FAST])).toEqual([]);
  const impossible = { ...FAST, meta: { ...FAST.meta, wall_ns: 1000 + 9000 } };
  expect(doubtsOf([PLAIN, impossible])).toHaveLength(1);
  const elsewhere = { ...FAST, meta: { ...FAST.meta, device: "cuda" } };
  expect(doubtsOf([PLAIN, elsewhere])).toHaveLength(1);
});
