// Runs side by side: what each had spent at a position, who is ahead at a time, where the cursor goes, what is written.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createGroup } from "../lib/group";
import { createStore } from "../lib/run";
import { draft, RECORDED, snapshot, token } from "../lib/testing";
import {
  fitSpeed,
  gapWords,
  inColumn,
  lineStarts,
  raceEnd,
  readRun,
  roundStep,
  roundsAt,
  runAt,
  spentAt,
  standing,
} from "./race";
import { createFollow, createState, fewest, topFor } from "./state";

/** A snapshot whose rounds bring `counts` tokens and take `ns` each, one target forward pass per round, drafts as deep as they brought. */
const rows = (counts, ns, name = "r") => {
  const [rounds, drafts, tokens, calls] = [[], [], [], []];
  counts.forEach((count, k) => {
    const drafted = Math.max(0, count - 1);
    const times = { start_ns: k * ns + 1, duration_ns: ns - 1 };
    const all = { drafted, examined: drafted, accepted: drafted };
    rounds.push({
      id: k,
      parent: null,
      level: 1,
      ...all,
      outcome: "bonus",
      why_no_draft: null,
      ...times,
      rule: "token",
    });
    calls.push({ round: k, level: 1, name: "target", kind: "verify", steps: 1, fed: count, cached: 0, ...times });
    for (let i = 0; i < count; i++) {
      const text = `t${tokens.length}`;
      if (i < count - 1) drafts.push(draft(k, i, i + 1, "accepted", { text }));
      tokens.push(
        token(k, i < count - 1 ? "accepted" : "bonus", { text, source: "nano", depth: i < count - 1 ? i + 1 : 0 }),
      );
    }
  });
  return snapshot({ rounds, drafts, tokens, calls, meta: { prefill_ns: 0, wall_ns: null } }, name);
};
const facts = (letter) => ({ letter, title: "", stack: "", tokens_per_second: 1 });
const run = (letter, counts, ns) => {
  const store = createStore();
  store.adopt(rows(counts, ns));
  return readRun(facts(letter), store);
};
const plain = run("A", Array(12).fill(1), 1e6);
const quick = run("B", [4, 4, 4], 2e6);
const slow = run("C", [3, 3, 3, 3], 5e6);

test("at a position a run has spent the forward passes and the time of the round that brought it", () => {
  assert.deepEqual(
    [0, 3, 4, 11].map((k) => spentAt(quick, k).forwards),
    [1, 1, 2, 3],
  );
  assert.deepEqual(
    [0, 3, 4, 11].map((k) => spentAt(quick, k).ns),
    [2e6, 2e6, 4e6, 6e6],
  );
  assert.deepEqual(
    [0, 11].map((k) => spentAt(plain, k).forwards),
    [1, 12],
  );
  assert.equal(spentAt(quick, 12), null);
});

test("tokens come out when their round ends, all of them at once", () => {
  assert.deepEqual(
    [0, 2e6 - 1, 2e6, 4e6, 6e6, 9e9].map((t) => runAt(quick, t).shown),
    [0, 0, 4, 8, 12, 12],
  );
  assert.deepEqual(
    [0, 2e6, 6e6].map((t) => roundsAt(quick, t)),
    [0, 1, 3],
  );
  assert.deepEqual(
    [2e6, 6e6].map((t) => runAt(quick, t).done),
    [false, true],
  );
  assert.deepEqual(
    [2e6, 6e6].map((t) => runAt(quick, t).forwards),
    [1, 3],
  );
});

test("a round in progress reaches as far as its draft and one token more; between rounds nothing is in the air", () => {
  const flying = runAt(quick, 3e6);
  assert.equal(flying.reach, 4);
  assert.ok(flying.part > 0.49 && flying.part < 0.51);
  assert.equal(runAt(quick, 2e6).reach, 0, "the next round begins a nanosecond later");
  assert.deepEqual([runAt(quick, 6e6).reach, runAt(quick, 6e6).part], [0, 0]);
  assert.equal(runAt(plain, 5e5).reach, 1);
});

test("the state of the race names who leads, by how much, who has finished and who was first", () => {
  const runs = [plain, quick, slow];
  assert.equal(standing(runs, 0), "No tokens yet.");
  assert.equal(standing(runs, 2e6), "B is ahead of A by 2 tokens and C by 4 tokens.");
  assert.equal(standing(runs, 5e6), "B is ahead of A by 3 tokens and C by 5 tokens.");
  assert.equal(standing(runs, 6e6), "B has finished; A has 6 of 12 tokens and C has 3 of 12 tokens.");
  assert.equal(standing(runs, 12e6), "B and A have finished; C has 6 of 12 tokens.");
  assert.equal(standing(runs, 20e6), "B finished first, after 6.00 ms; A 6.00 ms later and C 14.0 ms later.");
  assert.equal(raceEnd(runs), 20e6);
  assert.equal(standing([plain, run("B", Array(12).fill(1), 1e6)], 3e6), "All have 3 tokens.");
  assert.equal(
    standing([plain, run("B", Array(12).fill(1), 1e6)], 12e6),
    "A and B finished at the same time, after 12.0 ms.",
  );
  assert.equal(
    standing([plain, run("B", [3, 3], 2e6)], 12e6),
    "B finished first, after 4.00 ms, with 6 tokens; A 8.00 ms later, with 12 tokens.",
  );
  const level = standing([quick, run("B", [4, 4, 4], 2e6), slow], 2e6);
  assert.equal(level, "B and B are ahead of C by 4 tokens.");
});

test("a race is played at the speed that makes it last some seconds", () => {
  assert.deepEqual([10e9, 500e6, 60e6].map(fitSpeed), ["1", "0.1", "0.01"]);
});

test("shift goes to where the rounds of one run begin, and to the ends no further", () => {
  assert.deepEqual(
    [0, 2, 4, 11].map((k) => roundStep(quick, k, 1)),
    [4, 4, 8, 11],
  );
  assert.deepEqual(
    [0, 2, 4, 11].map((k) => roundStep(quick, k, -1)),
    [0, 0, 0, 8],
  );
  assert.deepEqual([roundStep(plain, 5, 1), roundStep(plain, 5, -1)], [6, 4]);
  assert.equal(roundStep(quick, 40, -1), 8, "a run that has ended counts from its last token");
  const cut = run("A", [2, 0, 2], 1e6);
  assert.deepEqual(
    [roundStep(cut, 1, 1), roundStep(cut, 2, -1)],
    [2, 0],
    "a round that was cut to nothing is passed over",
  );
});

test("a line begins where a column is lower than the one before it", () => {
  assert.deepEqual(lineStarts([0, 0, 0, 152, 152, 304]), [0, 3, 5]);
  assert.deepEqual(lineStarts([0, 1, 0]), [0]);
  assert.deepEqual(lineStarts([]), []);
});

test("a column holds a token on one line, long blanks counted, hidden characters shown", () => {
  assert.equal(inColumn("\n            self"), "↵␣¹²self");
  assert.equal(inColumn("  x "), "␣␣x␣");
  assert.equal(inColumn("\u202eabc"), "‹U+202E›abc");
  assert.equal(inColumn("<b>"), "<b>");
});

test("differences to the first run have a direction", () => {
  assert.equal(
    gapWords({ forwards: 3, ns: 1e6 }, { forwards: 12, ns: 3e6 }, "A"),
    "9 forward passes fewer, 2.00 ms earlier than A",
  );
  assert.equal(
    gapWords({ forwards: 2, ns: 5e6 }, { forwards: 1, ns: 3e6 }, "A"),
    "1 forward pass more, 2.00 ms later than A",
  );
  assert.equal(
    gapWords({ forwards: 1, ns: 3 }, { forwards: 1, ns: 3 }, "A"),
    "equal forward passes, at the same time as A",
  );
});

test("the cursor is pinned, hovered or keyed, in this order, and the last position counts where it is none of them", () => {
  const group = createGroup();
  const runs = [rows(Array(12).fill(1), 1e6, "a"), rows([4, 4, 4], 2e6, "b")];
  assert.equal(fewest(runs.map((run) => ({ rounds: run.rounds.id }))), 1);
  group.load(
    runs.map((run, k) => ({ letter: "AB"[k], run })),
    1,
  );
  const state = createState(group, [plain, quick]);
  const heard = [];
  state.listeners.add((what) => heard.push(what));
  assert.deepEqual([state.at, state.chosen, state.row], [11, false, 1]);
  state.go(3);
  state.look(5);
  assert.equal(state.at, 5);
  state.keep(7, 0);
  state.look(9, 1);
  assert.deepEqual([state.at, state.row], [7, 0], "what is pinned stays, and so does its row");
  state.go(99);
  assert.deepEqual([state.at, state.pin], [11, 11]);
  state.release();
  assert.deepEqual([state.at, state.chosen], [11, false]);
  state.set(-5, true);
  assert.deepEqual([state.t, state.playing], [0, true]);
  state.set(1e12);
  assert.equal(state.t, state.end);
  assert.deepEqual([...new Set(heard)], ["cursor", "clock"]);
  // The group's store shows the run and the round of the cursor.
  state.keep(5, 0);
  assert.deepEqual([group.store.letter, group.cursor.round, group.cursor.run], ["A", 5, 0]);
  state.keep(5, 1);
  assert.deepEqual([group.store.letter, group.cursor.round, group.cursor.run], ["B", 1, 1]);
  state.close();
  heard.length = 0;
  group.pin({ run: 0, token: 1 });
  assert.deepEqual([heard, group.store.letter], [[], "A"]);
});

test("a position beyond the end of a run has a token in a longer one", () => {
  const group = createGroup();
  group.load([
    { letter: "A", run: rows([2, 2], 1e6, "a") },
    { letter: "B", run: rows([2], 1e6, "b") },
  ]);
  group.go({ run: 1, token: 3 });
  assert.deepEqual([group.cursor.run, group.cursor.token, group.cursor.step, group.cursor.round], [1, 3, -1, null]);
  group.go({ run: 1, token: 9 });
  assert.equal(group.cursor.token, 3, "there is no such position");
  const heard = [];
  group.store.listeners.add((what) => heard.push([what, group.cursor.token]));
  group.pin({ run: 0, token: 3 });
  assert.deepEqual(heard, [["reset", -1]], "views that draw another run see no place of the one before");
  assert.deepEqual([group.cursor.round, group.store.tokens.length], [1, 4]);
});

test("a recorded run has the counts and times of its trace", { skip: !Object.keys(RECORDED).length }, () => {
  for (const snapshot of Object.values(RECORDED)) {
    const store = createStore();
    store.adopt(snapshot as never);
    const read = readRun(facts("A"), store);
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    const top = [...store.rounds.values()].filter((r) => r.parent === null);
    assert.equal(read.rounds.length, top.length);
    for (const name of ["drafted", "accepted"])
      assert.equal(sum(read.rounds.map((r) => r[name])), sum(top.map((r) => r[name])), name);
    assert.equal(sum(read.rounds.map((r) => r.count)), read.tokens.length);
    assert.equal(
      read.rounds.at(-1).forwards,
      store.calls.filter((c) => c.kind === "verify" && c.level === store.levels.length - 1).length,
    );
    read.rounds.forEach((r, k) => {
      assert.ok(r.accepted <= r.deepest && r.start < r.end);
      assert.ok(r.start >= (read.rounds[k - 1]?.end ?? 0), "rounds follow one another");
    });
    const { wall_ns, prefill_ns } = store.meta;
    assert.ok(wall_ns - prefill_ns - read.end < 20e6 && wall_ns - prefill_ns >= read.end);
    read.tokens.forEach((t, k) => {
      const { first, count } = read.rounds[t.round];
      assert.ok(first <= k && k < first + count);
    });
    const below = {};
    for (const c of store.calls)
      if (["verify", "draft"].includes(c.kind) && c.level < store.levels.length - 1)
        below[c.name] = (below[c.name] ?? 0) + c.steps;
    const told = {};
    for (const r of read.rounds) for (const [name, n] of Object.entries(r.below)) told[name] = (told[name] ?? 0) + n;
    assert.deepEqual(told, below);
  }
});

test("a pane keeps up with the race until the reader scrolls elsewhere", () => {
  const told = [];
  const follow = createFollow((on) => told.push(on));
  follow.put(120);
  follow.seen(121);
  assert.equal(follow.on, true, "what the race has put there is no reader's doing");
  follow.seen(80);
  follow.seen(10);
  follow.set(true);
  assert.deepEqual([follow.on, told], [true, [false, true]]);
});

test("a line out of sight comes to the upper third, one in sight stays", () => {
  assert.equal(topFor({ top: 100, bottom: 140 }, 50, 400), 50);
  assert.equal(topFor({ top: 430, bottom: 470 }, 50, 400), 310);
  assert.equal(topFor({ top: 20, bottom: 60 }, 50, 400), 0);
});
