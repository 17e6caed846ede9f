// What the inspector says of a round and the timeline of a call, by the run alone.
import assert from "node:assert/strict";
import { test } from "vitest";
import { isWhole } from "../lib/facts";
import { createStore } from "../lib/run";
import { draft, RECORDED, round, small, snapshot, token } from "../lib/testing";
import { callText, createTelling, isRound, servedBy } from "../timeline/said";
import { createReading, OWN, ROOT } from "./words";

const storeOf = (data) => {
  const s = createStore();
  s.adopt(data);
  return s;
};
const palette = { phrase: (s) => (s === "target" ? "the target" : `the draft model ${s}`) };
const over = { wall_ns: 12_000_000 };

for (const [name, data] of Object.entries(RECORDED)) {
  test(`${name}: rounds follow one another in the text, each ends in the token of the run`, () => {
    const store = storeOf(data);
    const said = createReading(store, palette);
    let text = store.pieces[store.promptIds.at(-1)];
    let shown = 0;
    for (const id of store.order.keys()) {
      const r = store.rounds.get(id);
      assert.equal(said.before(r), text);
      const own = said.ownOf(r);
      const tokens = store.tokens.filter((t) => t.round === id);
      assert.equal(
        Boolean(own),
        tokens.some((t) => t.depth === 0),
      );
      if (own) assert.equal(own.row, tokens.at(-1));
      shown += tokens.length;
      text = store.tokens[shown - 1].text;
      assert.equal(said.titleOf(r, id), `Round ${store.order.get(id)} of ${store.order.size}`);
      const words = said.summaryOf(r);
      if (r.drafted) {
        const marked = store.drafts
          .get(id)
          .filter((d) => ["accepted", "rejected", "cut"].includes(d.verdict)).length;
        const judged = isWhole(r.rule)
          ? `judged ${marked} positions? as a whole`
          : `examined ${r.examined} positions?`;
        assert.match(
          words,
          new RegExp(
            `^${r.drafted} tokens? drafted by .* ${judged} and accepted ${r.accepted || "none"},`,
          ),
        );
        assert.doesNotMatch(words, /unsure/);
        const unsure = said.summaryOf({ ...r, draft_end: "confidence" });
        assert.match(
          unsure,
          /drafted by .*\. The draft stopped because it was unsure\. .* (examined|judged)/,
        );
      }
    }
    assert.equal(shown, store.tokens.length);
  });
  test(`${name}: an event and its node find one another`, () => {
    const store = storeOf(data);
    const { stepOf } = createReading(store, palette);
    const { events } = store.index();
    events.forEach((e, step) => {
      const key =
        e.kind === "draft" ? ROOT : e.draft ? e.draft.node : e.kind === "token" ? OWN : null;
      if (key !== null) assert.equal(stepOf(e.round, key), step);
    });
    assert.equal(stepOf(null, ROOT), -1);
  });
  test(`${name}: every call is described with the round it served`, () => {
    const store = storeOf(data);
    const { callSentence, roundOf } = createTelling(store);
    for (const c of store.calls) {
      const words = callSentence(c);
      const top = roundOf(c);
      assert.equal(top, c.round < 0 ? null : store.topRound(c.round));
      assert.ok(
        words.endsWith(
          top === null
            ? "before the first round."
            : words.includes("within")
              ? `, for ${store.levels[store.rounds.get(c.round).level]}.`
              : `round ${store.order.get(top)}.`,
        ),
      );
      assert.ok(words.startsWith(`${c.name} `) && !words.includes("undefined"));
    }
  });
}

test.each([
  ["token", ["accepted", "rejected", "unreached"], "examined 2 positions and accepted 1"],
  ["block", ["accepted", "rejected", "rejected"], "judged 3 positions as a whole and accepted 1"],
  ["branch", ["accepted", "rejected", "rejected"], "judged 3 positions as a whole and accepted 1"],
])(
  "the summary under the rule %s counts the positions that have a mark",
  (rule, verdicts, said) => {
    const counts = { rule, drafted: 3, examined: 2, accepted: 1 };
    const drafts = verdicts.map((verdict, node) => draft(2, node, node + 1, verdict));
    const tokens = [token(2, "accepted", { depth: 1 }), token(2, "correction")];
    const store = storeOf(snapshot({ rounds: [{ ...round(2), ...counts }], drafts, tokens }));
    const { judgedBy, summaryOf } = createReading(store, palette);
    const r = store.rounds.get(2);
    const marked = verdicts.filter((verdict) => verdict !== "unreached").length;
    assert.equal(judgedBy(r), marked);
    assert.equal(
      summaryOf(r),
      `3 tokens drafted by the draft model nano. The target ${said}, then a correction.`,
    );
  },
);

test("a round of a level below is named by the level and its place among its like", () => {
  const store = storeOf(small());
  const said = createReading(store, palette);
  assert.equal(said.titleOf(store.rounds.get(1), 2), "Round 1 of 2, nano’s round 1");
  assert.equal(store.actor(store.rounds.get(1)), "nano");
  assert.equal(store.actor(store.rounds.get(2)), "the target");
  assert.equal(store.levelName(7), "level 7");
});

test("without a cursor the round of the highest score is shown, of a live run the newest", () => {
  const live = createReading(storeOf(small()), palette);
  assert.equal(
    live.usual(null, () => 0),
    3,
  );
  const done = createReading(storeOf({ ...small(), meta: over }), palette);
  assert.equal(
    done.usual(3, (id) => -id),
    3,
  );
  const best = [...storeOf(small()).order.keys()].at(-1);
  assert.equal(
    done.usual(null, (id) => Number(id === best)),
    best,
  );
  assert.equal(
    createReading(storeOf(snapshot({})), palette).usual(null, () => 0),
    null,
  );
});

test("a span is a round, a call or a time without one", () => {
  const call = {
    kind: "verify",
    round: 4,
    fed: 1,
    name: "target",
    cached: 3,
    steps: 2,
    duration_ns: 2e6,
    start_ns: 1e6,
  };
  assert.deepEqual(
    [isRound({ id: 1, outcome: "plain" }), isRound(call), isRound(null)],
    [true, false, false],
  );
  assert.deepEqual(
    [
      servedBy({ id: 7, outcome: "plain" }),
      servedBy(call),
      servedBy({ ...call, round: -1 }),
      servedBy({ start_ns: 1, duration_ns: 2 }),
      servedBy(null),
    ],
    [7, 4, null, null, null],
  );
  assert.deepEqual(callText(call), ["verify 1 token", "verify 1", "1"]);
  const { callSentence, gapSentence, roundSentence } = createTelling(storeOf(small()));
  assert.equal(
    callSentence({ ...call, round: 1 }),
    "target verifies: 1 token fed, 3 in the cache, 2 forward passes in one launch; " +
      "2.00 ms, from 1.00 ms; within round 1, for nano.",
  );
  assert.equal(
    callSentence({ ...call, kind: "lookup", cached: 0, steps: 1, round: 2 }),
    "target looks up a draft: 1 token found; 2.00 ms, from 1.00 ms; round 1.",
  );
  assert.equal(gapSentence({ start_ns: 5e3, duration_ns: 2e3 }), "Idle for 2.00 µs, from 5.00 µs.");
  assert.equal(
    roundSentence({
      id: 3,
      duration_ns: 4e6,
      start_ns: 12e6,
      drafted: 0,
      accepted: 0,
      outcome: "plain",
    }),
    "Round 2: 4.00 ms, from 12.0 ms; no draft, plain.",
  );
});
