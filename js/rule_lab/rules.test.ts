import assert from "node:assert/strict";
import { test } from "vitest";
import { numbers } from "../darts/board";
import { VERDICTS } from "../lib/testing";
import type { Models } from "./rules";
import { disagreeing, drawFrom, judge, lawOf, outcomes, RULES } from "./rules";

/** Rows that are random, with a zero now and then. */
function random(seed: number, v: number): Models {
  const next = numbers(seed);
  const row = () => {
    const raw = Array.from({ length: v }, () => (next() < 0.15 ? 0 : next() ** 2 + 0.01));
    raw[0] += 0.05;
    const total = raw.reduce((a, b) => a + b, 0);
    return raw.map((x) => x / total);
  };
  return { p: row(), q: row(), epsilon: 0.2 };
}
const CASES = Array.from({ length: 30 }, (_, seed) => ({
  models: random(seed + 1, 3 + (seed % 2)),
  n: 1 + (seed % 3),
}));

test("the rules decide as those of Python", { skip: !VERDICTS.length }, () => {
  for (const { rule, p, q, draft, u, r, accepted, token, h } of VERDICTS) {
    const verdict = judge(rule, { p, q, epsilon: 0.2 }, draft, u, r);
    assert.deepEqual([verdict.accepted, verdict.token], [accepted, token], rule);
    if (!h) continue;
    const right = verdict.steps.map((step) => step.right).reverse();
    assert.equal(right.length, h.length, rule);
    right.forEach((own, k) => {
      assert.ok(Math.abs(own - h[k]) < 1e-12, `${rule}: h ${own} and ${h[k]}`);
    });
  }
});

test("the lossless rules emit the target's law; typical acceptance does not", () => {
  let lossy = 0;
  for (const { models, n } of CASES) {
    for (const rule of ["token", "block", "branch"] as const)
      assert.ok(lawOf(rule, models, n).distance < 1e-12);
    lossy = Math.max(lossy, lawOf("typical", models, n).distance);
  }
  assert.ok(lossy > 0.1);
});
test("the chances of a round's outcomes sum to 1", () => {
  for (const { models, n } of CASES)
    for (const rule of RULES) {
      let total = 0;
      for (const { chance } of outcomes(rule, models, n)) total += chance;
      assert.ok(Math.abs(total - 1) < 1e-12);
    }
});
test("block and branch emit as many tokens, and no fewer than token", () => {
  let gain = 0;
  for (const { models, n } of CASES) {
    const [token, block, branch] = RULES.map((rule) => lawOf(rule, models, n).tokens);
    assert.ok(Math.abs(branch - block) < 1e-12);
    assert.ok(block > token - 1e-12);
    gain = Math.max(gain, block / token - 1);
  }
  assert.ok(gain > 0.01);
});
test("verdicts on random numbers have the frequencies of the law", () => {
  const models = random(7, 4);
  const next = numbers(99);
  for (const rule of RULES) {
    const law = lawOf(rule, models, 2);
    const first = new Array(4).fill(0);
    let tokens = 0;
    const runs = 40_000;
    for (let k = 0; k < runs; k++) {
      const draft = [drawFrom(models.q, next()), drawFrom(models.q, next())];
      const verdict = judge(rule, models, draft, [next(), next()], [next(), next(), next()]);
      first[verdict.accepted ? draft[0] : verdict.token] += 1 / runs;
      tokens += (verdict.accepted + 1) / runs;
    }
    assert.ok(Math.abs(tokens - law.tokens) < 0.02, rule);
    first.forEach((share, t) => {
      assert.ok(Math.abs(share - law.first[t]) < 0.012, `${rule} ${t}`);
    });
  }
});
test("disagreement 0 is the target's row, 1 its reverse", () => {
  assert.deepEqual(disagreeing([0.5, 0.3, 0.2], 0), [0.5, 0.3, 0.2]);
  assert.deepEqual(
    disagreeing([0.5, 0.3, 0.2], 1).map((x) => Math.round(x * 10)),
    [2, 3, 5],
  );
});

test.each([
  ["token", 0.5, 0, "u q = p is a rejection"],
  ["token", 0.499, 1, "u q < p accepts"],
  ["block", 0.5, 0, "u = h is a rejection"],
  ["branch", 0.5, 0, "u = h is a rejection"],
] as const)("%s verification with u = %s accepts %s: %s", (rule, u, accepted) => {
  const models = { p: [0.5, 0.5], q: [1, 0], epsilon: 0.2 };
  assert.equal(judge(rule, models, [0], [u], [0.1, 0.1]).accepted, accepted);
});
test("the threshold of typical acceptance falls with the entropy of p", () => {
  // Four equal tokens: the square root of ε by exp(-log 4), 0.5 / 4; a certain token: ε.
  const threshold = (p: number[]) =>
    judge("typical", { p, q: p, epsilon: 0.25 }, [0], [0.5], [0.1, 0.1]).steps[0].left;
  assert.ok(Math.abs(threshold([0.25, 0.25, 0.25, 0.25]) - 0.125) < 1e-12);
  assert.equal(threshold([1, 0]), 0.25);
});
test("typical acceptance accepts a token at its threshold", () => {
  // ε = 0.25 is below 0.5 by exp(-0.56).
  const models = { p: [0.25, 0.75], q: [0.5, 0.5], epsilon: 0.25 };
  assert.equal(judge("typical", models, [0], [0.9], [0.1, 0.1]).accepted, 1);
});
test("a draw at a border takes the next token", () => {
  assert.deepEqual(
    [0, 0.25, 0.2499, 0.999].map((r) => drawFrom([0.25, 0.75, 0], r)),
    [0, 1, 0, 1],
  );
});
