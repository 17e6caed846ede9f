// The dart board: accepted and residual area make up p, and a thousand darts do too, unless the
// rule is broken.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { RECORDED } from "../lib/testing";
import {
  type Board,
  boardOfCorrection,
  boardOfDraft,
  type Column,
  focusOf,
  lawOf,
  numbers,
  sampleOf,
  throwFor,
  withoutSpecks,
} from "./board";

/** The board of whole rows of probabilities. */
function boardOfRows(p: number[], q: number[]): Board {
  const columns = p.map((x, id) => {
    const parts = {
      accepted: Math.min(x, q[id]),
      residual: Math.max(0, x - q[id]),
      surplus: Math.max(0, q[id] - x),
    };
    return { id, ...parts, drafted: false };
  });
  const left = total(columns.map((c) => c.residual));
  return { rule: "ratio", fault: "resample", columns, left };
}
const total = (row: readonly number[]) => row.reduce((a, b) => a + b, 0);
const close = (a: number, b: number, by = 1e-9) =>
  assert.ok(Math.abs(a - b) <= by, `${a} is not ${b}`);

function piles(board: any, broken: boolean, n: number) {
  const next = numbers(5);
  const pile = board.columns.map(() => 0);
  for (let k = 0; k < n; k++) {
    pile[throwFor(board, broken, next).column] += 1 / n;
  }
  return pile;
}

test("darts follow the law of their rule: p without loss, another one with", () => {
  const p = [0.5, 0.3, 0.2, 0];
  const board = boardOfRows(p, [0.1, 0.3, 0.4, 0.2]);
  close(board.left as number, 0.4);
  const law = lawOf(board, false);
  for (const [t, share] of p.entries()) close(law[t], share);
  const broken = lawOf(board, true);
  close(total(broken), 1);
  assert.ok(Math.abs(broken[0] - 0.5) > 0.1, "the pile stays wrong");
  assert.equal(focusOf(board), 0, "it changes most where the broken rule takes most");
  for (const wrong of [false, true])
    piles(board, wrong, 40_000).forEach((share: number, t: number) =>
      close(share, lawOf(board, wrong)[t], 0.01),
    );
});

test("a walk that keeps every second rejected token changes all shares", () => {
  const column = (id: number, p: number, drafted: boolean): Column => {
    const own = { accepted: drafted ? p : 0, residual: drafted ? 0 : p };
    return { id, ...own, surplus: 0, drafted };
  };
  const columns = [column(0, 0.7, false), column(1, 0.1, true), column(2, 0.2, false)];
  const board: Board = { rule: "walk", fault: "keep", columns, left: 0.9 };
  const law = lawOf(board, true);
  for (const [k, share] of [0.35, 0.55, 0.1].entries()) close(law[k], share);
  assert.equal(focusOf(board), 1);
  for (const wrong of [false, true])
    piles(board, wrong, 40_000).forEach((share: number, t: number) =>
      close(share, lawOf(board, wrong)[t], 0.01),
    );
});

test("a rule of q that keeps every second rejected token moves p half of the way to q", () => {
  const board: Board = { ...boardOfRows([0.1, 0.6, 0.3], [1, 0, 0]), fault: "keep" };
  const law = lawOf(board, true);
  for (const [k, share] of [0.55, 0.3, 0.15].entries()) close(law[k], share);
  piles(board, true, 40_000).forEach((share: number, k: number) => close(share, law[k], 0.01));
});

test("a proposal is kept below p, and otherwise drawn again from the residual", () => {
  const board = boardOfRows([0.6, 0.4], [0.2, 0.8]);
  const next = numbers(3);
  let redrawn = 0;
  for (let k = 0; k < 500; k++) {
    const { first, fate, column, y } = throwFor(board, false, next);
    assert.equal(fate, first.y < board.columns[first.column].accepted ? "kept" : "redrawn");
    if (fate === "kept") {
      assert.deepEqual([column, y], [first.column, first.y]);
      continue;
    }
    redrawn += 1;
    assert.equal(column, 0);
    assert.ok(y >= 0.2 && y <= 0.6);
  }
  assert.ok(redrawn > 100);
});

test("a sample of proposals keeps as many as p says, the others are rejected", () => {
  const board = boardOfRows([0.0414, 0.9586], [1, 0]);
  const sample = sampleOf(board, 100);
  assert.equal(sample.length, 100);
  assert.equal(sample.filter(({ fate }) => fate === "kept").length, 4);
  for (const { column, y, fate } of sample) {
    assert.equal(column, 0);
    assert.equal(fate === "kept", y < 0.0414);
  }
});

test.each(["resample", "keep"] as const)(
  "by the broken rule %s, darts fill columns up to their share",
  (fault) => {
    const board: Board = { ...boardOfRows([0.1, 0.6, 0.3], [0.8, 0.1, 0.1]), fault };
    const law = lawOf(board, true);
    const next = numbers(7);
    const darts = Array.from({ length: 5000 }, () => throwFor(board, true, next));
    for (const [k, share] of law.entries()) {
      const heights = darts.filter(({ column }) => column === k).map(({ y }) => y);
      assert.ok(Math.max(...heights) <= share);
      close(heights.filter((y) => y < share / 2).length / heights.length, 0.5, 0.06);
    }
    const wrong = darts.some(({ fate }) => fate === "wrong");
    assert.equal(wrong, fault === "keep");
  },
);

for (const [name, data] of Object.entries(RECORDED))
  test(`${name}: accepted and residual area are p at every recorded correction`, () => {
    const store = createStore();
    store.adopt(data);
    let seen = 0;
    for (const t of store.tokens) {
      if (t.kind !== "correction" || !t.residual_top) continue;
      const drafts = store.drafts.get(t.round) ?? [];
      const kept = drafts.filter((d) => d.verdict === "accepted").at(-1)?.node ?? -1;
      const refused = drafts.filter(
        (d) => d.parent === kept && d.verdict === "rejected" && d.p !== null,
      );
      const board = boardOfCorrection(
        t,
        refused,
        store.meta.sampling,
        store.rounds.get(t.round)?.rule !== "token",
      );
      if (!board) continue;
      seen += 1;
      close(total(board.columns.map((c) => c.accepted + c.residual)), 1, 2e-4);
      close(total(board.columns.map((c) => c.residual)), board.left as number, 2e-4);
      if (board.rule === "ratio")
        close(total(board.columns.map((c) => c.accepted + c.surplus)), 1, 2e-4);
      const first = refused[0];
      close(board.columns[0].accepted + board.columns[0].residual, first.p as number);
      const whole = boardOfDraft(first);
      close(whole?.columns[0].accepted ?? NaN, Math.min(first.p ?? NaN, first.q ?? NaN));
    }
    if (name === "sampled") assert.ok(seen > 20);
  });

test("the token that was drawn has a column of its own, even where its p is not known", () => {
  const tops = {
    top: [[9, 0.2]],
    residual_top: [[3, 0.6]],
    q_top: [4, 5, 6, 7, 8].map((id) => [id, 0.1]),
  };
  const token: any = { token_id: 3, p: 0.4, ...tops, residual_sum: 0.5 };
  const draft: any = { token_id: 4, p: 1e-6, q: 0.5, u: 0.9 };
  const board = boardOfCorrection(token, [draft], { temperature: 0.7 } as any, false);
  const own = board?.columns.find(({ id }) => id === 3);
  close(own?.residual ?? 0, 0.3);
  close(board?.columns.at(-1)?.residual ?? 0, 0.2);
});

test("tokens with hardly a share are in the column of all others", () => {
  const column = (id: number | null, residual: number, drafted = false): Column => ({
    id,
    accepted: 0,
    residual,
    surplus: 0,
    drafted,
  });
  const columns = [
    column(1, 0.0001, true),
    column(2, 0.9),
    column(3, 0.0004),
    column(4, 0.0003),
    column(null, 0.0992),
  ];
  const board: Board = { rule: "walk", fault: "keep", columns, left: 1 };
  const merged = withoutSpecks(board, 4);
  assert.deepEqual(
    merged.columns.map(({ id }) => id),
    [1, 2, 4, null],
    "a drafted token and the one that was drawn have their columns",
  );
  const sumOf = (one: Board) => one.columns.reduce((sum, { residual }) => sum + residual, 0);
  assert.ok(Math.abs(sumOf(merged) - sumOf(board)) < 1e-12, "no share is lost");
});
