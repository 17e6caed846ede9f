// The course of the drafter's game on a small run, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { round, snapshot, token } from "../lib/testing";
import { verdictWords } from "./drawing";
import { MOST } from "./game";
import { raceWords, stairsOf } from "./picture";
import {
  addRacer,
  check,
  fail,
  fresh,
  goLive,
  isDone,
  isFull,
  playersOf,
  proceed,
  propose,
  textOf,
  undo,
  wait,
} from "./state";

const runOf = (words: string[], prompt = "p") => {
  const store = createStore();
  const tokens = words.map((text, id) => token(1, "plain", { text, id }));
  store.adopt({ ...snapshot({ rounds: [round(1)], tokens }), prompt } as any);
  return store;
};
const RUN = runOf(["a", "b", "c", "d"]);
const GAME = fresh(RUN);
const typed = (text: string) => ({ id: null, text });

test("an empty part is not proposed, and the last one can be taken back", () => {
  assert.equal(propose(GAME, typed("")), GAME);
  const two = propose(propose(GAME, { id: 0, text: "a" }), { id: 1, text: "" });
  assert.equal(two.proposal.length, 2, "a chosen token may have no text");
  assert.deepEqual(undo(two).proposal, [{ id: 0, text: "a" }]);
});

test("what was accepted is written with the target's own token", () => {
  const game = check(propose(propose(GAME, { id: 0, text: "a" }), { id: 9, text: "x" }));
  assert.deepEqual(game.written, [
    { text: "a", mine: true },
    { text: "b", mine: false },
  ]);
  assert.deepEqual([game.at, game.counts, game.proposal], [2, [2], []]);
  assert.equal(textOf(game), "pab");
  assert.equal(verdictWords(game), "Accepted 1; rejected “x”. The target’s own token: “b”.");
  assert.equal(verdictWords(GAME), "");
});

test("typed text, a long proposal and the end of the recording leave no room", () => {
  assert.equal(isFull(GAME), false);
  assert.ok(isFull(wait(GAME)));
  assert.ok(isFull(propose(GAME, typed("a"))));
  assert.ok(isFull({ ...GAME, at: 3 }), "the last token is always the target's own");
  assert.equal(isFull({ ...GAME, at: 3, source: "live" }), false);
  const many = Array.from({ length: MOST }, (_, id) => ({ id, text: "x" }));
  assert.ok(isFull({ ...GAME, source: "live", proposal: many }));
  assert.deepEqual([isDone({ ...GAME, at: 4 }), isDone(GAME)], [true, false]);
});

test("a live game continues on a run that follows its text", () => {
  const live = goLive(wait(GAME), runOf(["q"], "another prompt"));
  assert.deepEqual([live.source, live.prompt], ["live", "another prompt"]);
  const two = propose(propose({ ...live, at: 3 }, { id: 1, text: "a" }), { id: 2, text: "b" });
  const next = proceed(wait(two), runOf(["ab"]));
  assert.deepEqual([next.source, next.at, next.proposal], ["live", 0, [typed("ab")]]);
});

test("a game that failed is live only if it had begun", () => {
  const recorded = fail(wait(GAME), "no");
  assert.deepEqual([recorded.source, recorded.trouble], ["recorded", "no"]);
  assert.equal(isFull(recorded), false);
  // A stack beside it failed before the visitor's first pass: the run stays the decoded one.
  const live = fail(goLive(wait(GAME), runOf(["q"], "another prompt")), "no");
  assert.deepEqual([live.source, live.run.prompt], ["live", "another prompt"]);
});

test("a live game races what it decoded, a recorded one the recorded runs", () => {
  const recorded = [{ name: "db > target", counts: [3, 1] }];
  const names = (game: typeof GAME) => playersOf(game, recorded).map(({ name }) => name);
  assert.deepEqual(names(GAME), ["you", "db > target"]);
  assert.deepEqual(names(goLive(GAME, RUN)), ["you"]);
  assert.deepEqual(names(addRacer(goLive(GAME, RUN), { name: "nano", counts: [] })), [
    "you",
    "nano",
  ]);
});

test("scores are the tokens after as many passes as the visitor's", () => {
  const players = [
    { name: "you", counts: [2, 1] },
    { name: "db > target", counts: [3, 1, 5] },
  ];
  assert.deepEqual(stairsOf(players[1], 6), [3, 4, 9]);
  assert.equal(
    raceWords(players),
    "You: 3 tokens in 2 passes, 1.50 per pass. In as many passes: db > target 4, plain 2.",
  );
  assert.match(raceWords([{ name: "you", counts: [] }]), /^Each verification is one pass/);
});
