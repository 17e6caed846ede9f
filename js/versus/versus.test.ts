// Runs side by side: what each had spent at a position, who is ahead at a time, what is written.
import assert from "node:assert/strict";
import { test } from "vitest";
import type { Stairs } from "../staircase/stairs";
import { figuresTitle } from "./compare";
import { contrastText } from "./contrast";
import { crossingsOf, headsOf } from "./race_places";
import {
  crossingOf,
  fitSpeed,
  goalOf,
  passesAt,
  shownAt,
  spentAt,
  stateAt,
  treadsUntil,
} from "./race_time";

/** Rounds that bring `counts` tokens and take `ns` each. */
const run = (letter: string, counts: number[], ns: number) => {
  let low = 0;
  const treads = counts.map((count, k) => {
    const tread = { round: k, from: k * ns, to: (k + 1) * ns, low, high: low + count };
    low += count;
    return tread;
  });
  const stairs: Stairs = {
    treads,
    tokens: low,
    end: counts.length * ns,
    gain: null,
    plain: null,
    timed: true,
  };
  return { letter, stairs };
};
const plain = run("A", Array(12).fill(1), 1e6);
const quick = run("B", [4, 4, 4], 2e6);
const slow = run("C", [3, 3, 3, 3], 5e6);

test("at a position a run has spent the passes and the time of the round that brought it", () => {
  assert.deepEqual(
    [0, 3, 4, 11].map((k) => spentAt(quick.stairs, k)),
    [
      { passes: 1, ns: 2e6 },
      { passes: 1, ns: 2e6 },
      { passes: 2, ns: 4e6 },
      { passes: 3, ns: 6e6 },
    ],
  );
  assert.equal(spentAt(quick.stairs, 12), null);
});

test("tokens come out when their round ends, all of them at once", () => {
  assert.deepEqual(
    [0, 2e6 - 1, 2e6, 4e6, 6e6, 9e9].map((t) => shownAt(quick.stairs, t)),
    [0, 0, 4, 8, 12, 12],
  );
});

test("runs on their way have their letter beside the clock, higher where two would touch", () => {
  const frame = { x: (ns: number) => ns / 1e4, y: (tokens: number) => 300 - tokens, width: 900 };
  const heads = headsOf([plain, quick, slow], frame, 3e6);
  assert.deepEqual(
    heads.map(({ letter, x, tokens }) => [letter, x, tokens]),
    [
      ["A", 315, 3],
      ["B", 315, 4],
      ["C", 315, 0],
    ],
  );
  const rows = heads.map(({ y }) => y).toSorted((a, b) => a - b);
  assert.ok(rows[1] - rows[0] >= 18 && rows[2] - rows[1] >= 18);
  assert.ok(rows[2] <= 300);
  assert.deepEqual(
    headsOf([plain, quick], frame, 6e6).map(({ letter }) => letter),
    ["A"],
  );
  assert.deepEqual(headsOf([plain, quick], frame, 0), []);
});

test("a staircase ends at the clock: before the end of a round its tokens are unknown", () => {
  const heights = (ns: number) =>
    treadsUntil(quick.stairs, ns).map(({ to, low, high }) => [to, high - low]);
  assert.deepEqual(heights(0), []);
  assert.deepEqual(heights(3e6), [
    [2e6, 4],
    [3e6, 0],
  ]);
  assert.deepEqual(treadsUntil(quick.stairs, 6e6), quick.stairs.treads);
});

test("a pass is counted when its round ends", () => {
  assert.deepEqual(
    [0, 2e6 - 1, 2e6, 6e6].map((t) => passesAt(quick.stairs, t)),
    [0, 0, 1, 3],
  );
});

test("the state of the race names what each has, who has finished and who was first", () => {
  const runs = [plain, quick, slow];
  assert.equal(
    stateAt(runs, 2e6),
    "A has 2 of 12 tokens, B has 4 of 12 tokens and C has 0 of 12 tokens.",
  );
  assert.equal(stateAt(runs, 6e6), "B finished; A has 6 of 12 tokens and C has 3 of 12 tokens.");
  assert.equal(stateAt(runs, 20e6), "B finished first: 6.00 ms; A 12.0 ms and C 20.0 ms.");
});

test("a race ends at the tokens of the shortest text, reached by a longer one in a round", () => {
  const longer = run("C", [3, 3, 3, 3, 3, 3], 3e6);
  assert.equal(goalOf([plain, longer]), 12);
  assert.equal(crossingOf(longer.stairs, 12), 12e6);
  // A round that brings more than is asked for crosses at its end.
  assert.equal(crossingOf(longer.stairs, 10), 12e6);
  assert.equal(crossingOf(longer.stairs, 18), longer.stairs.end);
  const [first] = stateAt([quick, longer], 12e6).split(";");
  assert.equal(first, "B finished first: 6.00 ms");
});

test("labels at the finish do not touch: a later one has a row of its own", () => {
  const frame = { x: (ns: number) => ns / 1e5, left: 36, width: 300 };
  const rows = (runs: ReturnType<typeof run>[]) =>
    crossingsOf(runs, frame).map(({ letter, row }) => [letter, row]);
  assert.deepEqual(rows([plain, quick, slow]), [
    ["B", 0],
    ["A", 1],
    ["C", 0],
  ]);
  const far = crossingsOf([slow], { ...frame, width: 200 });
  assert.ok(far[0].x < 200 - 20);
});

test("a race is played at the speed that makes it last some seconds", () => {
  assert.deepEqual([10e9, 500e6, 60e6].map(fitSpeed), ["1", "0.1", "0.01"]);
});

test("figures of whole runs say their lengths where the race ends before", () => {
  assert.equal(figuresTitle([51, 51]), "Figures of the whole runs");
  assert.equal(figuresTitle([51, 51, 75]), "Figures of the whole runs of 51, 51 and 75 tokens");
});

test("the last token of a run has the time of the whole run", () => {
  const late = { ...quick.stairs, end: 7e6 };
  assert.deepEqual(spentAt(late, 11), { passes: 3, ns: crossingOf(late, 12) });
  assert.deepEqual(spentAt(late, 7), { passes: 2, ns: 4e6 });
});

test("a run that is faster here and slower on most prompts is named, and the reverse", () => {
  const of = (run: typeof quick, suite: object | null, stack = "db > target") =>
    ({ ...run, title: run.letter, suite, store: { meta: { stack } } }) as any;
  const words = (run: typeof quick, low: number, high: number, first = "target") =>
    contrastText([of(plain, null, first), of(run, { low, high })]);
  assert.equal(words(quick, 0.7, 0.9), "B: faster here, usually slower");
  assert.equal(words(slow, 1.1, 1.3), "C: slower here, usually faster");
  for (const run of [quick, slow]) assert.equal(words(run, 0.9, 1.1), "");
  assert.equal(words(quick, 1.1, 1.3), "");
  assert.equal(words(quick, 0.7, 0.9, "nano > target"), "", "suites are over plain decoding");
  assert.equal(contrastText([of(plain, null, "target"), of(quick, null)]), "");
});
