// A run beside its calibration, by hand and on the recordings.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { RECORDED, small } from "../lib/testing";
import { calibrationRow, otherRow, reasonOf, runRow, suiteRow } from "./measured";
import type { Graph, Picked } from "./spec";

const GRAPH: Graph = {
  levels: [],
  edges: [
    { from: "db", to: "nano", rate: 0.29, per: 0.2 },
    { from: "db", to: "target", rate: 0.38, per: 0.25 },
  ],
  prompts: 24,
};
const PICKED: Picked = {
  path: [
    { name: "db", lookahead: null },
    { name: "target", lookahead: null },
  ],
  stack: "db > target",
  words: "",
  ms: 5,
  length: 1.25,
  over_plain: 0.118,
  over_single: null,
};

test("a calibration has its prompts, its speed-up and what the target accepts", () => {
  assert.deepEqual(calibrationRow(GRAPH, PICKED), {
    of: "24 prompts of the calibration",
    times: "1.12 ×",
    how: "predicted",
    rate: 0.38,
  });
  const plain = { ...PICKED, path: [{ name: "target", lookahead: null }] };
  assert.equal(calibrationRow(GRAPH, plain).rate, null);
});

test("what was measured on many prompts has its interval; a check of the law its prompts", () => {
  const suite: any = { name: "Spec-Bench", prompts: 24, value: 1.124, low: 1.086, high: 1.169 };
  assert.deepEqual(suiteRow(suite), {
    of: "24 prompts: Spec-Bench",
    times: "1.12\u00a0× [1.09,\u00a01.17]",
    how: "measured",
    rate: null,
  });
  assert.deepEqual(otherRow(PICKED), []);
  const [row] = otherRow({ ...PICKED, measured_over_plain: 0.17, measured_on: "24 other prompts" });
  assert.deepEqual([row.of, row.times, row.how], ["24 other prompts", "1.17 ×", "measured"]);
});

test("a run without plain decoding beside it has no row", () => {
  const store = createStore();
  const made = small();
  store.adopt({ ...made, meta: { ...made.meta, stack: "nano > target" } });
  assert.equal(runRow(store, PICKED), null);
});

test("a run that copies has its measured speed-up, its acceptance and the reason", {
  skip: !Object.keys(RECORDED).length,
}, () => {
  const store = createStore();
  const data = RECORDED.databases;
  const plain = { tokens_per_second: 1, speedups: [1.5, 1.25, 1.75] };
  store.adopt({ ...data, meta: { ...data.meta, plain } });
  const row = runRow(store, PICKED);
  assert.ok(row);
  const rounds = [...store.order.keys()].map((id) => store.rounds.get(id));
  const sum = (name: "examined" | "accepted") =>
    rounds.reduce((all, round) => all + (round?.[name] ?? 0), 0);
  assert.equal(row.times, "1.50 ×");
  assert.equal(row.rate, sum("accepted") / sum("examined"));
  const low = { ...calibrationRow(GRAPH, PICKED), rate: 0 };
  assert.match(reasonOf(store, row, low), /^The prompt is copied from: \d+ of \d+ tokens/);
  assert.equal(reasonOf(store, row, { ...low, rate: 1 }), "");
});
