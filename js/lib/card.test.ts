// The printed arithmetic of a verdict.
import assert from "node:assert/strict";
import { test } from "vitest";
import { lineOf, rulerOf } from "./card";
import { createStore } from "./run";
import { RECORDED } from "./testing";
import { capital, columnsOfText, digitsFor, precise } from "./words";

const row = (more: object): any => ({
  verdict: "accepted",
  u: null,
  h: null,
  p: null,
  q: null,
  ...more,
});

test("a sampled token is judged by u · q < p, a block by u < h, a point mass by no number", () => {
  assert.deepEqual(
    [
      lineOf(row({ u: 0.359, q: 0.987, p: 0.702 }), "token"),
      lineOf(row({ verdict: "rejected", u: 0.991, q: 0.662, p: 0.581 }), "token"),
      lineOf(row({ u: 0.359, h: 0.41, q: 0.987, p: 0.702 }), "block"),
      lineOf(row({ verdict: "rejected", u: 0.991, h: 0.5, q: 0.662, p: 0.581 }), "block"),
      lineOf(row({ q: 1, p: 0.2 }), "token"),
    ],
    [
      "u · q = 0.359 × 0.987 = 0.354 < 0.702 = p",
      "u · q = 0.991 × 0.662 = 0.656 ≥ 0.581 = p",
      "u = 0.359 < 0.410 = h",
      "u = 0.991 ≥ 0.500 = h",
      "",
    ],
  );
});

test("the numbers of a rule of another package are not explained", () => {
  assert.equal(lineOf(row({ u: 0.359, q: 0.987, p: 0.702 }), "leviathan"), "");
});

test("a verdict is drawn as what it compared", () => {
  const drawn = row({ u: 0.5, q: 0.4, p: 0.3 });
  assert.deepEqual(rulerOf(drawn, "token"), {
    bars: [
      ["p", 0.3],
      ["q", 0.4],
    ],
    mark: ["u·q", 0.2],
  });
  const block = rulerOf(row({ u: 0.5, h: 0.4, q: 0.4, p: 0.3 }), "block");
  assert.deepEqual(block, { bars: [["h", 0.4]], mark: ["u", 0.5] });
  assert.deepEqual(rulerOf(row({ q: 1, p: 0.2 }), "token"), {
    bars: [
      ["p", 0.2],
      ["q", 1],
    ],
    mark: null,
  });
  assert.equal(rulerOf(row({}), "token"), null);
  assert.equal(rulerOf(drawn, "leviathan"), null);
});

test("figures have the digits that distinguish the two sides", () => {
  assert.deepEqual(
    [digitsFor(0.65561, 0.65568), digitsFor(0.1, 0.9), digitsFor(0.5, 0.5)],
    [4, 3, 6],
  );
  assert.deepEqual(
    [
      precise(0),
      precise(1),
      precise(0.35),
      precise(0.00012),
      precise(0.000012),
      precise(0.123456789, 5),
    ],
    ["0", "1", "0.350", "0.000120", "1.20e-5", "0.12346"],
  );
  assert.deepEqual([capital("the target"), capital("nano")], ["The target", "nano"]);
});

test("wide scripts take two columns, marks that combine none", () => {
  assert.deepEqual(
    ["abc", "漢字", "🙂", "e\u0301", "", "שלום"].map(columnsOfText),
    [3, 4, 2, 1, 0, 4],
  );
});

for (const [name, run] of Object.entries(RECORDED))
  test(`${name}: every verdict of a recorded run follows from its printed arithmetic`, () => {
    const store = createStore();
    store.adopt(run);
    for (const d of [...store.drafts.values()].flat()) {
      const line = lineOf(d, store.rounds.get(d.round)?.rule ?? "token");
      if (!line || typeof d.h === "number") continue;
      assert.equal((d.u ?? 0) * (d.q ?? 0) < (d.p ?? 0), d.verdict === "accepted");
      assert.equal(line.includes("<"), d.verdict === "accepted");
    }
  });
