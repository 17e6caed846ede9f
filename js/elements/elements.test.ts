// The elements without a document: trace files as Python reads them, runs from counts, boards from
// rows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { test } from "vitest";
import { metricsOf } from "../lib/metrics";
import { storeOf } from "../lib/run";
import { RECORDED } from "../lib/testing";
import FACTS from "./facts.json";
import { runOfTrace, unpackColumn } from "./file";
import { runOfRounds } from "./rounds";

const TRACES = "../hsd_viz/traces";
const read = (name: string) =>
  JSON.parse(gunzipSync(readFileSync(`${TRACES}/${name}.json.gz`)).toString());

test("a trace file is the run that Python sends, column by column", () => {
  for (const name of ["mixed", "both", "plain", "hierarchy"]) {
    const sent = RECORDED[name];
    if (!sent) continue;
    const run = runOfTrace(read(name), name, FACTS.sources);
    for (const table of ["tokens", "drafts", "rounds", "calls"] as const)
      assert.deepEqual(run[table], sent[table], `${name}: ${table}`);
    assert.deepEqual(
      [run.levels, run.prompt_ids, run.pieces],
      [sent.levels, sent.prompt_ids, sent.pieces],
    );
    assert.equal(run.meta.stack, sent.meta.stack);
  }
});

test("packed columns have their nulls", () => {
  const i4 = Buffer.from(new Int32Array([1, -(2 ** 31), 3]).buffer).toString("base64");
  const f8 = Buffer.from(new Float64Array([0.5, NaN]).buffer).toString("base64");
  assert.deepEqual(unpackColumn({ i4 }), [1, null, 3]);
  assert.deepEqual(unpackColumn({ f8 }), [0.5, null]);
  assert.deepEqual(unpackColumn({ of: ["a", null], at: [1, 0, 0] }), [null, "a", "a"]);
  assert.deepEqual(unpackColumn({ n: [2, -1, 0, 1], ids: [7, 8, 9], shares: [0.5, 0.25, 1] }), [
    [
      [7, 0.5],
      [8, 0.25],
    ],
    null,
    [],
    [[9, 1]],
  ]);
});

test("other files are refused in one line", () => {
  assert.throws(() => runOfTrace({}, "a.json", {}), /a\.json is not an hsd_viz trace/);
  assert.throws(() => runOfTrace(null, "a.json", {}), /is not an hsd_viz trace/);
  const newer = { ...read("plain"), schema: 99 };
  assert.throws(
    () => runOfTrace(newer, "a.json", {}),
    /schema version 99; this module reads up to 2/,
  );
});

test("rounds by their counts have the metrics of those counts", () => {
  const rounds = [
    { drafted: 4, accepted: 4, milliseconds: 20 },
    { drafted: 4, accepted: 1, milliseconds: 20 },
    { drafted: 0, accepted: 0, milliseconds: 10 },
  ];
  const store = storeOf(runOfRounds(rounds, { title: "eagle3" }));
  const metrics = metricsOf(store);
  assert.deepEqual(
    [metrics.tokens, metrics.rounds, metrics.drafted, metrics.accepted],
    [8, 3, 8, 5],
  );
  assert.equal(metrics.tokens_per_second, 160);
  assert.deepEqual(
    [...store.rounds.values()].map(({ outcome, examined }) => [outcome, examined]),
    [
      ["bonus", 4],
      ["correction", 2],
      ["plain", 0],
    ],
  );
  assert.deepEqual(
    (store.drafts.get(1) ?? []).map(({ verdict }) => verdict),
    ["accepted", "rejected", "unreached", "unreached"],
  );
});

test("one round without a time leaves the run untimed", () => {
  const run = runOfRounds([
    { drafted: 1, accepted: 1, milliseconds: 5 },
    { drafted: 1, accepted: 0 },
  ]);
  assert.deepEqual([run.meta.wall_ns, run.rounds.start_ns], [null, [null, null]]);
});
