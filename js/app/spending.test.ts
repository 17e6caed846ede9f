// The parts of a decode's time and the costs of a run, by hand.
import { expect, test } from "vitest";
import { costsOf, spendingOf } from "./spending";

const call = (name: string, level: number, kind: string, us: number, round = -1, fed = 1) =>
  ({ name, level, kind, duration_ns: 1000 * us, round, fed }) as any;
const round = (id: number, drafted: number, examined: number, accepted: number) =>
  [id, { id, level: 1, drafted, examined, accepted, start_ns: 0, duration_ns: 1 }] as any;
/** 100 µs of decode: two passes over four tokens each, with one and three accepted. */
const run = (): any => ({
  tokens: Array.from({ length: 6 }, (_, k) => ({ token_id: k, kind: "bonus", source: "target" })),
  rounds: new Map([round(0, 3, 2, 1), round(1, 3, 3, 3)]),
  order: new Map(),
  drafts: new Map(),
  calls: [
    call("target", 1, "prefill", 500),
    call("nano", 0, "prefill", 50),
    call("nano", 0, "draft", 12, 0),
    call("target", 1, "verify", 40, 0, 4),
    call("nano", 0, "draft", 6, 1),
    call("target", 1, "verify", 32, 1, 4),
  ],
  meta: {
    stack: "nano:3 > target",
    prefill_ns: 550_000,
    wall_ns: 650_000,
    plain: { tokens_per_second: 50_000 },
  },
});

test("a pass is divided among its tokens, and the parts sum to the decode", () => {
  const parts = spendingOf(run());
  expect(parts.map(({ name, ns }) => [name, ns])).toEqual([
    // 40 − 20 of the first pass, whose draft had two rejected tokens of four fed, and 32.
    ["passes: tokens that stay", 52_000],
    ["passes: rejected tokens", 20_000],
    ["drafting: nano", 18_000],
    ["between calls", 10_000],
  ]);
  expect(parts.reduce((sum, { ns }) => sum + ns, 0)).toBe(100_000);
  expect(spendingOf({ ...run(), calls: [] })).toEqual([]);
});

test("costs are in plain passes, per draft token, and on steps of the sliders", () => {
  // A plain pass takes 20 µs; 6 draft tokens took 18 µs, and their verification 72 − 2 × 20.
  // Six tokens in 100 µs, against 50 000 per second.
  expect(costsOf(run())).toEqual({
    acceptance: 0.8,
    cost: 0.15,
    slope: 0.27,
    lookahead: 3,
    measured: [3, expect.closeTo(1.2)],
  });
});

test("without a plain run or without drafts there are no costs", () => {
  expect(costsOf({ ...run(), meta: { stack: "nano:3 > target" } })).toBe(null);
  const undrafted = { ...run(), rounds: new Map([round(0, 0, 0, 0)]) };
  expect(costsOf(undrafted)).toBe(null);
});
