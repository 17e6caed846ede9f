// Which database answered in which round.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { draft, RECORDED, round, snapshot, token } from "../lib/testing";
import { accesses, barsOf, stepsOf } from "./index";

const DATABASES = ["context", "model", "statistics"];
const known = (s: string) => DATABASES.includes(s);
const of = (rows: any) => {
  const store = createStore();
  store.adopt(rows);
  return accesses(store, known, DATABASES);
};

test("drafted and accepted are counted by source where drafts are verified first, for the target's round they served", () => {
  const found = of(
    snapshot({
      rounds: [
        round(1, { parent: 3, level: 1 }),
        round(2, { parent: 3, level: 1 }),
        round(3, { level: 2 }),
        round(4, { level: 2, why: "no match" }),
      ],
      drafts: [
        draft(1, 0, 1, "accepted", { source: "model" }),
        draft(1, 1, 2, "rejected", { source: "context" }),
        draft(2, 0, 1, "accepted", { source: "context" }),
        // The same tokens again, and one of a model, before the target.
        draft(3, 0, 1, "accepted", { source: "model", level: 2 }),
        draft(3, 1, 2, "rejected", { source: "nano", level: 2 }),
      ],
      tokens: [token(3, "accepted"), token(3, "correction"), token(4, "plain")],
    }),
  );
  assert.deepEqual(found.sources, ["context", "model"]);
  assert.equal(found.level, 1);
  assert.deepEqual([...found.rounds[0].drafted].sort(), [
    ["context", 2],
    ["model", 1],
  ]);
  assert.deepEqual([...found.rounds[0].accepted].sort(), [
    ["context", 1],
    ["model", 1],
  ]);
  assert.deepEqual([found.rounds[1].drafted.size, found.rounds[1].why], [0, "no match"]);
  assert.deepEqual(
    found.rounds.map((r) => r.tokens),
    [3, 4],
    "one token of prompt, then what each round emitted",
  );
});

test("the recorded runs: every database draft and every token is counted", {
  skip: !Object.keys(RECORDED).length,
}, () => {
  const runs = RECORDED;
  for (const [name, run] of Object.entries(runs)) {
    const found = of(run);
    const { level, source, verdict } = run.drafts;
    const rows = verdict.filter((_: string, k: number) => known(source[k]) && level[k] === found.level);
    const sum = (what: "drafted" | "accepted") =>
      found.rounds.reduce((n, r) => n + [...r[what].values()].reduce((a, b) => a + b, 0), 0);
    assert.equal(sum("drafted"), rows.length, name);
    assert.equal(sum("accepted"), rows.filter((d: string) => d === "accepted").length, name);
    assert.equal(found.rounds.at(-1)?.tokens, run.prompt_ids.length + run.tokens.token_id.length, name);
    assert.equal(found.sources.length > 0, /^db/.test(run.meta.stack), name);
  }
});

test("bars start at the bottom of their lane, steps go from the least to the most", () => {
  assert.equal(barsOf([2, 0, 1], 2, 10), "M0.1 10v-10h.8V10zM2.1 10v-5h.8V10z");
  assert.equal(stepsOf([5, 10], 0, 10, 10), "M0 5H1L1 0H2");
});
