// The dart board of a struck word and the players beside it, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { createStore } from "../lib/run";
import { columns, small } from "../lib/testing";
import { boardOf } from "./board";
import { column, endsOf, filledPath, pathOf } from "./picture";
import { type GameText, onText, type Play, playersOf, rivalsAtEnd, USUAL_PASSES } from "./play";
import { cornersOf } from "./score";

const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test("a word that was proposed has the model's probability, and the rest is left", () => {
  const tokens = [
    {
      top: [
        [5, 0.6],
        [7, 0.3],
      ],
    },
  ];
  const run = { tokens, pieces: { 5: " cat", 7: " dog" } } as any;
  const { board, names } = boardOf(run, { word: "dog", act: 0, place: 0 });
  assert.deepEqual(names, ["dog", "cat", "others"]);
  assert.deepEqual(
    board.columns.map(({ accepted, residual }) => [accepted, residual > 0]),
    [
      [0.3, false],
      [0, true],
      [0, true],
    ],
  );
  near(board.columns[2].residual, 0.1);
  near(board.left, 0.7);
});

test("an unsure proposal shares the rest as the model does, so that more of it is kept", () => {
  const top = [
    [5, 0.6],
    [7, 0.2],
  ];
  const run = { tokens: [{ top }], pieces: { 5: " cat", 7: " dog" } } as any;
  const { board } = boardOf(run, { word: "dog", act: 0, place: 0 }, "others", 0.6);
  const q = board.columns.map(({ accepted, surplus }) => accepted + surplus);
  for (const [k, share] of [0.6, 0.3, 0.1].entries()) near(q[k], share);
  near(board.left, 0.4);
});

test("a word that the model does not know has nothing on the board", () => {
  const run = { tokens: [{ top: [[5, 0.6]] }], pieces: { 5: " cat" } } as any;
  const { board } = boardOf(run, { word: "xyz", act: 0, place: 0 });
  assert.equal(board.columns[0].accepted, 0);
  near(board.left, 1);
});

/** A game after its first pass at a text of two rounds. */
function playedOnce(): Play {
  const verify = (round: number, fed: number) => ({
    round,
    level: 1,
    name: "target",
    kind: "verify",
    steps: 1,
    fed,
    cached: 0,
    start_ns: 0,
    duration_ns: 1000,
  });
  const run = createStore();
  run.adopt({ ...small(), calls: columns([verify(2, 4), verify(3, 1)]) } as any);
  const passes = USUAL_PASSES;
  const text = {
    plain: run,
    given: "",
    passes,
    others: [{ name: "copying", source: "context", run }],
  };
  const pass = { accepted: 1, width: 3 };
  return {
    texts: [text as unknown as GameText],
    act: 0,
    at: 0,
    passes: [[pass]],
  } as unknown as Play;
}

test("each player has as many passes as the visitor", () => {
  const players = playersOf(playedOnce());
  assert.deepEqual(
    players.map(({ name, passes }) => [name, passes.map(({ tokens, width }) => [tokens, width])]),
    [
      ["you", [[2, 3]]],
      ["copying", [[2, 4]]],
      ["plain", [[1, 1]]],
    ],
  );
});

test("the others at the end have all passes, or those of the recorded run", () => {
  assert.deepEqual(
    rivalsAtEnd(playedOnce()).map(({ name, passes }) => [name, passes.length]),
    [
      ["copying", 2],
      ["plain", USUAL_PASSES],
    ],
  );
});

test("numbers of the axis are where texts end", () => {
  assert.deepEqual(endsOf([3, 3, 3]), [0, 3, 6, 9]);
  assert.deepEqual(endsOf([3, 2, 0]), [0, 3, 5]);
});

test("a line starts at zero tokens, and rises only where its pass ends", () => {
  const corners = cornersOf(
    [2, 1].map((tokens) => ({ tokens, width: 1, drafting: 0 })),
    { one: 1, more: 0 },
  );
  const path = pathOf(
    corners,
    ({ passes }) => 10 * passes,
    (tokens) => 100 - tokens,
  );
  assert.equal(path, "M0.0 100.0H10.0V98.0H20.0V97.0");
});

test("what was filled in is pale on the line, which goes up to all tokens", () => {
  const passes = [
    { tokens: 3, width: 1, drafting: 0, filled: [true, false] },
    { tokens: 1, width: 1, drafting: 0 },
    { tokens: 2, width: 1, drafting: 0, filled: [true] },
  ];
  const pale = filledPath(
    cornersOf(passes, { one: 1, more: 0 }),
    ({ passes }) => 10 * passes,
    (tokens) => 100 - tokens,
  );
  assert.equal(pale, "M10.0 100.0V99.0M30.0 96.0V95.0");
});

test("names in a column keep the order of their lines, and never touch or leave it", () => {
  assert.deepEqual(column([50, 10], 100), [50, 10]);
  assert.deepEqual(column([12, 10, 12], 100), [28, 10, 46]);
  assert.deepEqual(column([100, 100, 98, 30], 100), [82, 100, 64, 30]);
});

test("the score of a text is without the texts before it", () => {
  const play = playedOnce();
  const later = { ...play, texts: [...play.texts, ...play.texts], passes: [play.passes[0], []] };
  const passes = (act: number) => playersOf(onText({ ...later, act })).map((p) => p.passes.length);
  assert.deepEqual(passes(0), [1, 1, 1]);
  assert.deepEqual(passes(1), [0, 0, 0]);
});
