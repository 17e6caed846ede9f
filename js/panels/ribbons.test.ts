// What survives each level sums to what the run recorded.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { RECORDED, small } from "../lib/testing";
import { labelsOf, layoutOf, lostLabel, stagesOf } from "./ribbons";

test("a stage has the draft tokens of its verifier by source, the text what was emitted", () => {
  const store = createStore();
  store.adopt(small());
  const stages = stagesOf(store, []);
  assert.deepEqual(
    stages.map((s) => s.name),
    ["nano", "target", "text"],
  );
  assert.deepEqual(stages[1].flows, [{ source: "nano", drafted: 3, accepted: 1 }]);
  assert.deepEqual(stages[2].flows, [
    { source: "nano", drafted: 1, accepted: 1 },
    { source: "target", drafted: 2, accepted: 2 },
  ]);
});

test("no level passes on more than it accepted", { skip: !Object.keys(RECORDED).length }, () => {
  for (const data of Object.values(RECORDED)) {
    const store = createStore();
    store.adopt(data);
    const stages = stagesOf(store, ["context", "model", "statistics"]);
    assert.equal(
      stages.at(-1)?.flows.reduce((n, f) => n + f.drafted, 0),
      store.tokens.length,
    );
    for (const { flows } of stages) for (const f of flows) assert.ok(f.accepted <= f.drafted);
    // The target accepts what the text has of each draft source.
    for (const { source, accepted } of stages.at(-2)?.flows ?? [])
      assert.ok(
        (stages.at(-1)?.flows.find((f) => f.source === source)?.drafted ?? 0) <= accepted,
        source,
      );
  }
});

const STAGES = [
  {
    name: "target",
    flows: [
      { source: "context", drafted: 38, accepted: 28 },
      { source: "model", drafted: 1, accepted: 1 },
      { source: "statistics", drafted: 1, accepted: 0 },
    ],
  },
  {
    name: "text",
    flows: [
      { source: "context", drafted: 28, accepted: 28 },
      { source: "model", drafted: 1, accepted: 1 },
    ],
  },
];

test.each([1380, 372])("on %s pixels all columns and labels are within the picture", (width) => {
  const layout = layoutOf(STAGES, width);
  assert.ok(layout.lefts[0] >= 0 && layout.lefts[1] + 14 <= width);
  for (const { words, x, anchor } of labelsOf(STAGES, layout, (source) => source)) {
    const long = 6.6 * words.length;
    assert.ok(anchor === "end" ? x >= long : x + long <= width, words);
  }
});

test("a phone has no label in a ribbon: sources are named beside the text alone", () => {
  const layout = layoutOf(STAGES, 372);
  const labels = labelsOf(STAGES, layout, (source) => source);
  assert.deepEqual(
    labels.map(({ words }) => words),
    ["28 context", "1 model"],
  );
  for (const { x } of labels) assert.ok(x > layout.lefts[1] + 14);
});

test("labels of low flows are apart", () => {
  const layout = layoutOf(STAGES, 1380);
  const [, model, statistics] = labelsOf(STAGES, layout, (source) => source);
  assert.equal(statistics.y - model.y, 17);
});

test("what falls is counted beside it, and nothing falls out of the text", () => {
  const layout = layoutOf(STAGES, 1380);
  assert.equal(lostLabel(STAGES, layout, 0)?.words, "11 rejected or not examined");
  assert.equal(lostLabel(STAGES, layout, 1), null);
});
