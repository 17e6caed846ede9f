// The distribution of a correction worked back from what the trace has of it.
import assert from "node:assert/strict";
import { test } from "vitest";
import { workedBack } from "./residual";

const row = (node, verdict, more = {}) => ({
  node,
  parent: node - 1,
  depth: node + 1,
  text: `t${node}`,
  p: 0.5,
  q: 0.5,
  u: 0.5,
  verdict,
  ...more,
});

// A vocabulary of eight, p at temperature 1, and a draft's q: the trace's part of them, and what it was taken from.
const SAMPLED = (weights, T) => {
  const w = weights.map((x) => x ** (1 / T));
  const sum = w.reduce((a, b) => a + b, 0);
  return w.map((x) => x / sum);
};
const five = (row) =>
  row
    .map((x, id) => [id, Number(x.toPrecision(6))] as [number, number])
    .sort((a, b) => b[1] - a[1])
    .slice(0, 5)
    .filter(([, x]) => x > 0);
const WARM = [0.3, 0.25, 0.15, 0.1, 0.08, 0.06, 0.04, 0.02];
function corrected(T, drafted, q, left = true) {
  const p = SAMPLED(WARM, T);
  const rest = q ? p.map((x, k) => Math.max(0, x - q[k])) : p.map((x, k) => (drafted.includes(k) ? 0 : x));
  const sum = rest.reduce((a, b) => a + b, 0);
  const residual = rest.map((x) => x / sum);
  const id = five(residual)[0][0];
  const tops = { top: five(WARM), residual_top: five(residual), q_top: q && five(q) };
  const t = { token_id: id, p: WARM[id], ...tops, residual_sum: left ? sum : null };
  const refused = drafted.map((d) => row(d, "rejected", { token_id: d, p: p[d], q: q ? q[d] : 1, u: q ? 0.9 : null }));
  return { p, rest, sum, ...workedBack(t, refused, { temperature: T, top_k: 0, top_p: 1 }) };
}
const near = (a, b) => assert.ok(Math.abs(a - b) < 2e-5, `${a} is not ${b}`);
const Q = [0.5, 0.1, 0.02, 0.03, 0.02, 0.2, 0.1, 0.03];

for (const T of [0.6, 1, 1.3]) {
  for (const left of [true, false]) {
    test(`temperature ${T}: p, q and what is left of a correction come out as they were sampled${left ? "" : ", without the recorded sum"}`, () => {
      const c = corrected(T, [0], Q, left);
      assert.equal(c.rule, "ratio");
      assert.deepEqual(
        c.refused.map((r) => [r.id, r.p.value, r.q.value, r.left]),
        [[0, c.p[0], 0.5, 0]],
      );
      near(
        c.rows[0] && c.sum,
        c.rest.reduce((a, b) => a + b, 0),
      );
      for (const r of c.rows) {
        near(r.left, c.rest[r.id]);
        near(r.left / c.sum, r.residual);
        for (const [found, true_] of [
          [r.p, c.p[r.id]],
          [r.q, Q[r.id]],
        ]) {
          if (found.value !== null) near(found.value, true_);
          else assert.ok(true_ <= found.bound + 1e-6);
        }
      }
      assert.ok(c.rows.some((r) => r.p.value !== null && r.q.value !== null && r.q.value > 0));
    });
  }
  test(`temperature ${T}: a walked draft is corrected from p without the drafted tokens, with the sum or without`, () => {
    for (const left of [true, false]) {
      const c = corrected(T, [1, 3], null, left);
      assert.equal(c.rule, "walk");
      near(c.sum, 1 - c.p[1] - c.p[3]);
      for (const r of c.rows) near(r.p.value, c.p[r.id]);
      assert.ok(c.rows.every((r) => r.q.value === null && r.left === r.p.value));
    }
  });
}

test("what the trace lacks is not shown", () => {
  // The drafted token is not among the target's five at temperature 1, and the sum was not recorded.
  const c = corrected(0.6, [7], [0, 0, 0, 0, 0, 0, 0.2, 0.8], false);
  assert.equal(c.sum, null);
  assert.ok(c.rows.every((r) => r.p.value === null && r.left === null && r.residual > 0));
  assert.equal(c.refused[0].q.value, 0.8);
  // p and q that agree in what was recorded of them leave nothing to divide by.
  assert.equal(
    workedBack(
      { token_id: 1, p: 0.5, top: [[1, 0.5]], residual_top: [[1, 1]], q_top: [[1, 0.5]], residual_sum: null },
      [row(0, "rejected", { token_id: 0 })],
      {
        temperature: 1,
      },
    ).sum,
    null,
  );
});

test("a token that was drafted twice at one place is taken away once", () => {
  const twice = [
    row(0, "rejected", { token_id: 4, p: 0.25, u: null }),
    row(1, "rejected", { token_id: 4, p: 0.25, u: null }),
  ];
  const c = workedBack(
    { token_id: 1, p: 0.5, top: [[1, 0.5]], residual_top: [[1, 1]], q_top: null, residual_sum: null },
    twice,
    {
      temperature: 1,
    },
  );
  assert.deepEqual([c.sum, c.refused.length, c.rows[0].p.value], [0.75, 1, 0.75]);
});
