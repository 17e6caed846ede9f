// The steps of an open game, and what they leave as it was.
import assert from "node:assert/strict";
import { test } from "vitest";
import { storeOf } from "../lib/run";
import { COLUMNS } from "../lib/tables";
import { round, snapshot, token } from "../lib/testing";
import { type GameText, USUAL_PASSES } from "./play";
import { stairsOf } from "./stairs";
import {
  addWord,
  advance,
  isPlaying,
  lastPass,
  proposalOf,
  propose,
  restart,
  runOfGame,
  setNote,
  setPrice,
  settle,
  showDarts,
  showTime,
  start,
  turnStairs,
  write,
} from "./state";
import { ENGLISH } from "./strings";
import { MAX_WORDS } from "./words";

const WORDS = ["The", " cat", " sat", " on", " the", " mat", " and", " slept", "."];
const textOf = (name: string): GameText => ({
  name,
  title: name,
  asked: "",
  given: "The",
  lesson: "",
  passes: USUAL_PASSES,
  plain: storeOf(
    snapshot({
      rounds: [round(1)],
      tokens: WORDS.map((text, id) => token(1, "plain", { text, id })),
    }) as any,
  ),
  others: [],
});
const GAME = start([textOf("first"), textOf("second")]);
const readAll = (game: typeof GAME, draft: string) => settle(propose(write(game, draft)));

test("a proposal is the words of the field, no more than a pass takes", () => {
  assert.deepEqual(proposalOf({ draft: "  cat … sat, 1. " }), ["cat", "sat,"]);
  assert.equal(proposalOf({ draft: "a ".repeat(2 * MAX_WORDS) }).length, MAX_WORDS);
});

test("a chosen word follows those of the field", () => {
  assert.equal(addWord(write(GAME, " cat  sa"), "on").draft, "cat sa on ");
});

test("a pass counts when its result has been shown", () => {
  const reading = propose(write(GAME, "cat sat"));
  assert.deepEqual([reading.phase, reading.draft], ["reading", ""]);
  assert.equal(lastPass(reading), undefined);
  const settled = settle(reading);
  assert.equal(settled.phase, "write");
  assert.equal(settled.reading, null);
  assert.deepEqual(lastPass(settled)?.words, ["cat", "sat"]);
  assert.equal(settle(settled), settled, "without a pass there is nothing to show");
});

test("a text ends with its lesson, the game with the results", () => {
  let game = GAME;
  const phases: string[] = [];
  for (let act = 0; act < 2; act++) {
    for (let pass = 0; pass < USUAL_PASSES; pass++) game = readAll(game, "");
    phases.push(game.phase);
    game = advance(game);
    phases.push(game.phase);
  }
  assert.deepEqual(phases, ["lesson", "write", "lesson", "result"]);
  assert.deepEqual([GAME, game].map(isPlaying), [true, false]);
});

test("a text ends before its passes do where only its end is left", () => {
  assert.equal(readAll(GAME, "cat sat on the mat").phase, "write");
  assert.equal(readAll(GAME, "cat sat on the mat and").phase, "lesson");
});

test("the stairs over time start over passes, and the darts leave them as they are", () => {
  const turned = turnStairs(showTime(GAME), 1);
  assert.deepEqual([turned.phase, turned.morph], ["time", 1]);
  assert.deepEqual([showDarts(turned).phase, showDarts(turned).morph], ["exact", 1]);
  assert.equal(showTime(showDarts(turned)).morph, 0);
});

test("a game begins again without passes, at the price that was set", () => {
  const again = restart(setNote(setPrice(turnStairs(readAll(GAME, "cat"), 1), 0.25), "copied"));
  assert.deepEqual([again.phase, again.morph, again.price.more], ["write", 0, 0.25]);
  assert.equal(again.note, "");
  assert.equal(again.measured, GAME.measured);
  assert.equal(lastPass(again), undefined);
});

test("the run of a game is the text with the most passes, at the measured price", () => {
  assert.equal(runOfGame(GAME), undefined);
  const first = readAll(GAME, "cat");
  const second = readAll(readAll(advance(first), "cat sat"), "the");
  const run = runOfGame(setPrice(second, 1));
  assert.deepEqual(run?.tokens.text, [" cat", " sat", " on", " the", " mat"]);
  assert.deepEqual(run?.rounds.drafted, [2, 1]);
  assert.deepEqual(Object.keys(run?.drafts ?? {}), [...COLUMNS.drafts]);
  assert.deepEqual(run?.drafts.cosine, [null, null, null], "the visitor finds nothing by states");
});

test("the stairs have the passes of each text, and the width of the page", () => {
  const family = (source: string) => source;
  const result = advance(advance(readAll(readAll(GAME, "cat"), "")));
  const stairs = stairsOf(result, 100, ENGLISH, family);
  assert.deepEqual(stairs.bands, [2, 0]);
  assert.deepEqual(
    stairs.players.map(({ name, passes }) => [name, passes.length]),
    [
      ["You", 2],
      ["Plain", 2],
    ],
  );
  assert.equal(stairs.width, 260, "a page without a width has the least one");
  const widths = [479, 480].map((room) => stairsOf(result, room, ENGLISH, family));
  assert.deepEqual(
    widths.map(({ width, isNarrow }) => [width, isNarrow]),
    [
      [479, true],
      [480, false],
    ],
  );
  const turned = stairsOf(turnStairs(result, 0.5), 480, ENGLISH, family);
  assert.equal(turned.height, widths[0].height, "the stairs keep their height");
});
