// One round worked out: proposed tokens, the arithmetic of the verdicts.
import assert from "node:assert/strict";
import { test } from "vitest";
import { workedBack } from "../darts/residual";
import { createGroup } from "../lib/group";
import { createStore } from "../lib/run";
import { RECORDED, small, snapshot } from "../lib/testing";
import { asFigure, cellsOf, handedUp, judge, toTell, whyNothing } from "./round";

const storeOf = (name) => {
  const s = createStore();
  s.adopt(RECORDED[name]);
  return s;
};

test("wide scripts take two columns, marks that combine none", () => {
  assert.deepEqual(["abc", "漢字", "🙂", "e\u0301", "", "שלום"].map(cellsOf), [3, 4, 2, 1, 0, 4]);
});

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

test("a block is judged by u < h where it was compared, and by no product of u and q", () => {
  const { rule, steps } = judge(
    [
      row(0, "accepted", { u: null, h: null, q: 0.9, p: 0.2 }),
      row(1, "accepted", { u: 0.359, h: 0.41, q: 0.987, p: 0.702 }),
      row(2, "rejected", { u: 0.991, h: 0.5, q: 0.662, p: 0.581 }),
    ],
    null,
  );
  assert.equal(rule, "ratio");
  assert.deepEqual(
    steps.map((s) => s.line),
    ["", "u = 0.359 < 0.410 = h", "u = 0.991 ≥ 0.500 = h"],
  );
  assert.deepEqual(
    steps.map((s) => s.chance),
    [null, null, null],
  );
});

test("a sampled chain is judged by u · q < p, with the numbers and the sign of the verdict", () => {
  const { rule, steps } = judge(
    [
      row(0, "accepted", { u: 0.359, q: 0.987, p: 0.702 }),
      row(1, "rejected", { u: 0.991, q: 0.662, p: 0.581 }),
      row(2, "unreached", { u: null, p: null }),
    ],
    null,
  );
  assert.equal(rule, "ratio");
  assert.deepEqual(
    steps.map((s) => s.line),
    ["u · q = 0.359 × 0.987 = 0.354 < 0.702 = p", "u · q = 0.991 × 0.662 = 0.656 ≥ 0.581 = p", ""],
  );
  assert.ok(Math.abs(steps[0].chance - 0.702 / 0.987) < 1e-12);
  assert.equal(steps[2].chance, null);
  assert.equal(judge([row(0, "accepted", { u: 0.9, q: 0.2, p: 0.6 })], null).steps[0].chance, 1);
});

test("figures have the digits that distinguish the two sides", () => {
  assert.equal(toTell(0.65561, 0.65568), 4);
  assert.equal(toTell(0.1, 0.9), 3);
  assert.equal(toTell(0.5, 0.5), 6);
  assert.deepEqual(
    [asFigure(0), asFigure(1), asFigure(0.35), asFigure(0.00012), asFigure(0.000012), asFigure(0.123456789, 5)],
    ["0", "1", "0.350", "0.000120", "1.20e-5", "0.12346"],
  );
});

test("a point-mass draft is walked place by place, down to where the verifier drew something else", () => {
  const mass = { q: 1, u: null };
  const tree = [
    row(0, "rejected", { ...mass, p: 0.1, parent: -1, depth: 1 }),
    row(1, "accepted", { ...mass, p: 0.7, parent: -1, depth: 1 }),
    row(2, "rejected", { ...mass, p: 0, parent: 1, depth: 2 }),
    row(3, "unreached", { ...mass, p: null, parent: 0, depth: 2 }),
  ];
  const { rule, steps } = judge(tree, { text: "own" });
  assert.equal(rule, "walk");
  assert.deepEqual(
    steps.map((s) => [s.place, s.text, s.drew, s.hit, s.p]),
    [
      [1, ["t0", "t1"], "t1", true, 0.7],
      [2, ["t2"], "own", false, null],
    ],
  );
  assert.deepEqual(
    judge(
      tree.slice(1, 3).map((d) => ({ ...d, node: d.node - 1, parent: d.parent - (d.parent > 0 ? 1 : 0) })),
      null,
    ).steps[1].drew,
    null,
  );
  const cut = judge([row(0, "accepted", mass), row(1, "cut", mass)], null).steps;
  assert.deepEqual(
    cut.map((s) => [s.hit, s.cut, s.drew]),
    [
      [true, false, "t0"],
      [false, true, "t1"],
    ],
  );
  assert.deepEqual(judge([], null), { rule: "none", steps: [] });
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

test("why nothing was drafted is always a sentence", () => {
  for (const why of ["no match", "not worth it", "no room", "off", null, "something new"]) {
    const words = whyNothing(why, "the target", "the databases");
    assert.match(words, /^No draft: .+\.$/);
    assert.doesNotMatch(words, /undefined|null/);
  }
});

for (const name of ["both", "hierarchy"].filter((n) => RECORDED[n])) {
  test(`${name}: the rounds below proposed exactly the tokens that the level above verified, each own token its level's`, () => {
    const store = storeOf(name);
    let seen = 0;
    for (const [id, children] of store.children) {
      const rounds = children.map((k) => store.rounds.get(k));
      const drafts = store.drafts.get(id) || [];
      const given = handedUp(drafts, rounds);
      assert.equal(given.size, rounds.length);
      for (const r of rounds) {
        const { first, own } = given.get(r.id);
        const kept = (store.drafts.get(r.id) || []).filter((d) => d.verdict === "accepted").map((d) => d.token_id);
        assert.deepEqual(
          drafts.slice(first, first + kept.length).map((d) => d.token_id),
          kept,
        );
        if (own) assert.equal(own.source, store.levels[r.level]);
        seen += 1;
      }
    }
    assert.ok(seen > 20);
  });
}

test("inconsistent rounds are not shown", () => {
  assert.equal(handedUp([row(0, "accepted")], [{ id: 1, accepted: 3, outcome: "bonus" }]).size, 0);
});

for (const name of Object.keys(RECORDED)) {
  test(`${name}: every verdict of a recorded run follows from its printed arithmetic`, () => {
    const store = storeOf(name);
    for (const [id, drafts] of store.drafts) {
      const { rule, steps } = judge(drafts, { text: "own" });
      const r = store.rounds.get(id);
      if (rule === "ratio") {
        for (const s of steps.filter((s) => s.line)) {
          const d = drafts.find((d) => d.node === s.node);
          assert.equal(d.u * d.q < d.p, d.verdict === "accepted");
          assert.equal(s.line.includes("<"), d.verdict === "accepted");
        }
        assert.equal(steps.filter((s) => s.line).length, r.examined);
      } else {
        assert.equal(steps.filter((s) => s.hit).length, r.accepted);
        assert.equal(steps.length, r.examined);
      }
    }
  });
}

test("a place of the text can be pointed at; views are notified once, and another run forgets it", () => {
  const group = createGroup();
  group.store.adopt(small());
  const heard = [];
  group.listeners.add((now) => heard.push(now.lit));
  group.light(3);
  group.light(3);
  group.light(3, true);
  group.light(null);
  group.light(null);
  assert.deepEqual(heard, [{ position: 3, reveal: false }, { position: 3, reveal: true }, null]);
  group.light(5);
  group.store.adopt(snapshot({}, "another"));
  assert.equal(group.cursor.lit, null);
});

test("a round of a level below is remembered with the target's round that it served", () => {
  const group = createGroup();
  group.store.adopt(small());
  group.pin({ round: 1 });
  assert.deepEqual([group.cursor.round, group.cursor.inner, group.cursor.pinned], [2, 1, true]);
  group.pin({ round: 2 });
  assert.deepEqual([group.cursor.round, group.cursor.inner], [2, null]);
  group.release();
  group.go({ token: 0 });
  assert.equal(group.cursor.inner, null);
});
