// The browser's metrics and stacks are Python's.
import assert from "node:assert/strict";
import { test } from "vitest";
import { gainOf, impossible, metricsOf, repetitionShare } from "./metrics";
import { createStore } from "./run";
import { draftsWithModels, isPlain, parseStack, refusalOf, writeStack } from "./stack";
import { ABOUT, METRICS, RECORDED, STACKS } from "./testing";

const close = (a, b, name) => {
  if (typeof b === "number")
    assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)), `${name}: ${a} is not ${b}`);
  else assert.deepEqual(a, b, name);
};

for (const [name, data] of Object.entries(RECORDED))
  test(`the metrics of ${name} are those of Python`, () => {
    const store = createStore();
    store.adopt(data);
    const metrics = metricsOf(store);
    for (const [key, value] of Object.entries(metrics)) {
      if (key !== "calls_by_level")
        close(
          key.endsWith("by_source") ? sorted(value) : value,
          key.endsWith("by_source") ? sorted(METRICS[name][key]) : METRICS[name][key],
          key,
        );
    }
    assert.equal(metrics.calls_by_level.length, METRICS[name].calls_by_level.length);
    metrics.calls_by_level.forEach((row, k) => {
      for (const [key, value] of Object.entries(row))
        close(value, METRICS[name].calls_by_level[k][key], `call ${k}: ${key}`);
    });
    // Joined columns are the run again.
    const again = createStore();
    again.adopt(store.snapshot());
    assert.deepEqual(metricsOf(again), metrics);
  });
const sorted = (counts) => Object.fromEntries(Object.entries(counts).sort());

test("a speed-up is the median of its pairs; one above the tokens of a pass is impossible", () => {
  const run = (plain) =>
    ({
      tokens: [{ token_id: 1, source: "x", kind: "plain" }],
      rounds: new Map([[0, { level: 0, drafted: 0, examined: 0, accepted: 0 }]]),
      order: new Map(),
      drafts: new Map(),
      calls: [{ kind: "verify", level: 0, name: "target", steps: 1, fed: 1, duration_ns: 1 }],
      meta: { prefill_ns: 0, wall_ns: 1e9, plain },
    }) as any;
  assert.equal(gainOf(run(null)), null);
  assert.deepEqual(gainOf(run({ tokens_per_second: 1, speedups: [0.9, 1.3, 1.0] })), {
    value: 1,
    own: 1,
    low: 0.9,
    high: 1.3,
    pairs: 3,
    impossible: false,
  });
  assert.equal(gainOf(run({ tokens_per_second: 0.5 })).impossible, true);
  assert.deepEqual([impossible(2.1, 2), impossible(2.2, 2)], [false, true]);
});

test("repetition counts tokens that end an 8-gram seen before", () => {
  assert.equal(repetitionShare([]), 0);
  const once = [1, 2, 3, 4, 5, 6, 7, 8];
  assert.equal(repetitionShare(once), 0);
  assert.equal(repetitionShare([...once, ...once]), 1 / 16);
});

test("stacks are read and written as in Python", { skip: !STACKS.length }, () => {
  for (const [text, printed] of STACKS) {
    let written = null;
    try {
      written = writeStack(parseStack(text, ABOUT.sources));
    } catch (error) {
      assert.match((error as Error).message, /^[^\n]+$/);
    }
    assert.equal(written, printed, text);
  }
  assert.ok(STACKS.some(([, printed]) => printed === null));
  const { sources, models } = ABOUT;
  assert.deepEqual(
    [draftsWithModels("db > nano > target", sources), draftsWithModels("db > target", sources)],
    [true, false],
  );
  assert.deepEqual(
    [draftsWithModels("auto > target", sources), draftsWithModels("auto[db] > target", sources)],
    [true, false],
  );
  assert.deepEqual([isPlain("target"), isPlain("db > target"), isPlain("")], [true, false, false]);
  assert.match(
    refusalOf(parseStack("a/b > target", sources), models),
    /'a\/b' is not allowed on this page/,
  );
  assert.match(
    refusalOf(parseStack("auto[db,big] > target", sources), models),
    /'big' is not allowed/,
  );
  assert.equal(refusalOf(parseStack("a/b > target", sources), null), "");
});
