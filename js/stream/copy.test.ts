// Where drafts were copied from, by hand: recorded positions, and those found by the key.
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { createStore } from "../lib/run";
import { columns } from "../lib/testing";
import { copyAt, copyOf, copyText, firstCopy } from "./copy";

const PROMPT = [5, 6, 7, 8, 9];
const isLocal = (source: string) => source === "context";

interface Row {
  id: number;
  verdict?: string;
  position?: number | null;
  key?: number | null;
  parent?: number;
  source?: string;
}
/** Drafts of a round: each continues the one before it. */
const drafts = (round: number, rows: Row[]) =>
  rows.map((row, node) => ({
    round,
    level: 1,
    source: row.source ?? "context",
    node,
    parent: row.parent ?? node - 1,
    depth: node + 1,
    token_id: row.id,
    text: `t${row.id}`,
    p: null,
    q: 1,
    u: null,
    verdict: row.verdict ?? "accepted",
    key_length: row.key ?? null,
    count: 1,
    score: null,
    position: row.position ?? null,
    h: null,
    cosine: null,
  }));
const token = (
  round: number,
  depth: number,
  id: number,
  kind = "accepted",
  source = "context",
) => ({
  token_id: id,
  text: `t${id}`,
  raw: null,
  round,
  kind,
  source,
  path: [1],
  depth,
  p: 0.5,
  entropy: null,
  top: null,
  residual_top: null,
  q_top: null,
  residual_sum: null,
});
const round = (id: number) => ({
  id,
  parent: null,
  level: 1,
  drafted: 1,
  examined: 1,
  accepted: 1,
  outcome: "correction",
  why_no_draft: null,
  start_ns: id,
  duration_ns: 1,
  rule: "token",
  draft_end: null,
});

/** A plain token 6, then a round whose draft is given, with what was accepted and token 1. */
function runOf(rows: Row[], prompt_ids = PROMPT) {
  const proposed = drafts(1, rows);
  const accepted = proposed.filter(({ verdict }) => verdict === "accepted");
  const tokens = [
    token(0, 0, 6, "plain", "target"),
    ...accepted.map(({ token_id }, k) => token(1, k + 1, token_id)),
    token(1, 0, 1, "correction", "target"),
  ];
  const store = createStore();
  store.adopt({
    run: "r",
    seq: 2,
    prompt: "a prompt",
    prompt_ids,
    levels: ["db", "target"],
    meta: { stack: "db > target", sampling: {}, prefill_ns: null, wall_ns: null },
    tokens: columns(tokens.map((one, index) => ({ index, ...one }))),
    drafts: columns(proposed),
    rounds: columns([round(0), round(1)]),
    calls: columns([]),
    pieces: {},
  } as any);
  return { store, rows: store.drafts.get(1) ?? [] };
}

describe("a copy with recorded positions", () => {
  const copied = [
    { id: 7, position: 2, key: 1 },
    { id: 8, position: 3, key: 2 },
    { id: 9, position: 4, key: 3, verdict: "rejected" },
  ];
  const whole = {
    source: "context",
    round: 1,
    from: 2,
    at: 6,
    length: 3,
    kept: 2,
    dropped: [2],
    key: 1,
    isFound: false,
  };
  test("is the whole passage, from any of its tokens", () => {
    const { store, rows } = runOf(copied);
    for (const row of rows) assert.deepEqual(copyOf(store, isLocal, 1, row), whole);
  });
  test("ends where the position jumps", () => {
    const { store, rows } = runOf([copied[0], { id: 5, position: 0, key: 1 }, copied[2]]);
    const copy = copyOf(store, isLocal, 1, rows[0]);
    assert.deepEqual([copy?.from, copy?.length], [2, 1]);
    const next = copyOf(store, isLocal, 1, rows[1]);
    assert.deepEqual([next?.from, next?.length], [0, 1]);
  });
  test("follows the branch that was accepted", () => {
    const tree = [copied[0], { ...copied[1], id: 4, verdict: "rejected" }, copied[1]];
    tree[2] = { ...tree[2], parent: 0 } as Row;
    const { store, rows } = runOf(tree);
    const copy = copyOf(store, isLocal, 1, rows[0]);
    assert.deepEqual([copy?.length, copy?.kept, copy?.dropped], [2, 2, []]);
  });
  test("is under the events of its draft and verdicts, not under the target's own token", () => {
    const { store } = runOf(copied);
    const { events } = store.index();
    const under = events.map((_, step) => copyAt(store, isLocal, step)?.from ?? -1);
    assert.deepEqual(
      events.map(({ kind }, k) => [kind, under[k]]),
      [
        ["token", -1],
        ["draft", 2],
        ["verdict", 2],
        ["verdict", 2],
        ["verdict", 2],
        ["token", -1],
      ],
    );
  });
});

describe("without a position", () => {
  test("the last place is found where the key is followed by the token", () => {
    // The text before the draft is 5 6 7 8 9 6: the key 6 is followed by 7 at place 2.
    const { store, rows } = runOf([{ id: 7, key: 1 }]);
    const copy = copyOf(store, isLocal, 1, rows[0]);
    assert.deepEqual([copy?.from, copy?.key, copy?.isFound], [2, 1, true]);
  });
  test("of two places the last one is found", () => {
    const { store, rows } = runOf([{ id: 7, key: 1 }], [6, 7, 6, 7]);
    assert.equal(copyOf(store, isLocal, 1, rows[0])?.from, 3);
  });
  test("the tokens of the draft before it belong to its key", () => {
    const { store, rows } = runOf([
      { id: 7, key: 1 },
      { id: 8, key: 2 },
    ]);
    const copy = copyOf(store, isLocal, 1, rows[1]);
    assert.deepEqual([copy?.from, copy?.length], [2, 2]);
  });
  test("nothing is found without a key, by a longer one, or for a database of other texts", () => {
    for (const row of [
      { id: 7 },
      { id: 7, key: 2 },
      { id: 9, key: 1 },
      { id: 7, key: 1, source: "model" },
    ]) {
      const { store, rows } = runOf([row]);
      assert.equal(copyOf(store, isLocal, 1, rows[0]), null, JSON.stringify(row));
    }
  });
});

test("the first copy is that of the example, else the longest of the text", () => {
  const { store, rows } = runOf([
    { id: 7, position: 2, key: 1 },
    { id: 5, position: 0, key: 1 },
    { id: 6, position: 1, key: 1 },
  ]);
  const round = store.rounds.get(1) as any;
  assert.equal(firstCopy(store, isLocal, { round, draft: rows[0] })?.from, 2);
  assert.equal(firstCopy(store, isLocal, null)?.from, 0);
  assert.equal(firstCopy(createStore(), isLocal, null), null);
});

test("the words say where from, and why from there", () => {
  const copy = { from: 2, key: 3, isFound: false } as any;
  assert.equal(
    copyText(copy, 5),
    "Copied from the prompt: the 3 tokens before it are the same there.",
  );
  assert.equal(
    copyText({ ...copy, from: 9, key: 1, isFound: true }, 5),
    "Copied from the output above: the token before it is the same there " +
      "(found by these, not recorded).",
  );
  assert.equal(copyText({ ...copy, key: 0 }, 5), "Copied from the prompt.");
});
