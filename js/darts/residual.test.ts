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

// A vocabulary of eight, p at temperature 1, and a draft's q: the trace's part of them, and what it
// was taken from.
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
function corrected(T, drafted, q) {
  const p = SAMPLED(WARM, T);
  const rest = q
    ? p.map((x, k) => Math.max(0, x - q[k]))
    : p.map((x, k) => (drafted.includes(k) ? 0 : x));
  const sum = rest.reduce((a, b) => a + b, 0);
  const residual = rest.map((x) => x / sum);
  const id = five(residual)[0][0];
  const tops = { top: five(WARM), residual_top: five(residual), q_top: q && five(q) };
  const t = { token_id: id, p: WARM[id], ...tops, residual_sum: sum };
  const refused = drafted.map((d) =>
    row(d, "rejected", { token_id: d, p: p[d], q: q ? q[d] : 1, u: q ? 0.9 : null }),
  );
  return { p, left: rest, ...workedBack(t, refused, { temperature: T, top_k: 0, top_p: 1 }) };
}
const near = (a, b) => assert.ok(Math.abs(a - b) < 2e-5, `${a} is not ${b}`);
const Q = [0.5, 0.1, 0.02, 0.03, 0.02, 0.2, 0.1, 0.03];

for (const T of [0.6, 1, 1.3])
  test(`temperature ${T}: p, q and the rest of a correction come out as sampled`, () => {
    const c = corrected(T, [0], Q);
    assert.deepEqual(c.taken, [{ id: 0, p: c.p[0], q: 0.5, left: 0 }]);
    for (const r of c.rest) {
      near(r.left, c.left[r.id]);
      if (r.p !== null) near(r.p, c.p[r.id]);
      if (r.q !== null) near(r.q, Q[r.id]);
    }
    assert.ok(c.rest.some((r) => r.p !== null && r.q > 0));
    // A walked draft is corrected from p without the drafted tokens.
    const walked = corrected(T, [1, 3], null);
    for (const r of walked.rest) near(r.p, walked.p[r.id]);
    assert.ok(walked.walk && walked.rest.every((r) => r.q === null && r.left === r.p));
  });

test("p comes out as sampled where the target hardly has the draft token", () => {
  const q = [0.01, 0.02, 0.03, 0.05, 0.12, 0.15, 0.2, 0.42];
  const c = corrected(0.7, [7], q);
  assert.deepEqual(
    c.rest.map(({ id }) => id),
    [0, 1, 2, 3],
  );
  for (const { id, p } of c.rest) near(p, c.p[id]);
});

test("a token drafted twice at a place counts once; without the sum nothing is shown", () => {
  const twice = [0, 1].map((node) => row(node, "rejected", { token_id: 4, p: 0.25, u: null }));
  const t = {
    token_id: 1,
    p: 0.5,
    top: [[1, 0.5]],
    residual_top: [[1, 1]],
    q_top: null,
    residual_sum: 0.75,
  };
  const c = workedBack(t, twice, { temperature: 1 });
  assert.deepEqual([c.taken.length, c.rest[0].p], [1, 0.75]);
  assert.equal(workedBack({ ...t, residual_sum: null }, twice, { temperature: 1 }), null);
});
