// The course of the game: texts one after the other, some passes at each. Pure: every step returns
// a new state.

import { YOU } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Played } from "./run";
import { type Pass, type Player, passesOf } from "./score";
import { isFilled, MAX_WORDS, placeAfter, readWords } from "./words";

/** A text of the game with its recorded runs. */
export interface GameText {
  name: string;
  title: string;
  /** What the model was asked, and the beginning of its answer that is given. */
  asked: string;
  given: string;
  lesson: string;
  /** The passes at it, at most. */
  passes: number;
  plain: Store;
  /** Other recorded runs of it. */
  others: { name: string; source: string; run: Store }[];
}
export interface Play {
  texts: readonly GameText[];
  act: number;
  /** The place in the text. */
  at: number;
  /** The passes at each text so far. */
  passes: readonly (readonly Played[])[];
}

/** Passes at a text that is not to take off: the whole game takes a minute. */
export const USUAL_PASSES = 3;

const textOf = (play: Play) => play.texts[play.act];
export const givenOf = ({ plain, given }: GameText) => placeAfter(plain.tokens, given);

export function begin(texts: readonly GameText[]): Play {
  return { texts, act: 0, at: givenOf(texts[0]), passes: texts.map(() => []) };
}

/** Let the model read some words in one pass. */
export function read(play: Play, words: readonly string[]): { play: Play; pass: Played } {
  const { tokens } = textOf(play).plain;
  const proposal = words.slice(0, MAX_WORDS);
  const pass: Played = { ...readWords(tokens, play.at, proposal), at: play.at, words: proposal };
  const passes = play.passes.map((all, k) => (k === play.act ? [...all, pass] : all));
  return { play: { ...play, at: pass.own + 1, passes }, pass };
}

/** Whether only the end of the text is left, or it has had its passes. */
export const isOver = (play: Play) =>
  play.at >= textOf(play).plain.tokens.length - 1 ||
  play.passes[play.act].length >= textOf(play).passes;
/** Whether a game has had a pass. */
export const hasBegun = ({ passes }: Play): boolean => passes.some((all) => all.length > 0);
export const isLast = (play: Play) => play.act === play.texts.length - 1;

export function next(play: Play): Play {
  const act = play.act + 1;
  return { ...play, act, at: givenOf(play.texts[act]) };
}

/**
 * The passes of each player, as many at each text as the visitor had: the visitor first, plain
 * decoding last.
 */
export function playersOf({ texts, passes }: Play): Player[] {
  const own = passes.flatMap((all, act) =>
    all.map(({ at, own: end, accepted, width }) => {
      const filled = texts[act].plain.tokens.slice(at, end).map(isFilled);
      return { tokens: accepted + 1, width, drafting: 0, filled };
    }),
  );
  const names = new Map(
    texts.flatMap(({ others }) => others.map(({ name, source }) => [name, source])),
  );
  const inAll = [...names].filter(([name]) =>
    texts.every((text, k) => !passes[k].length || text.others.some((one) => one.name === name)),
  );
  const others = inAll.map(([name, source]) => {
    const recorded = texts.flatMap((text, k): Pass[] => {
      const run = text.others.find((one) => one.name === name)?.run;
      return run ? passesOf(run, givenOf(text)).slice(0, passes[k].length) : [];
    });
    return { name, source, passes: recorded };
  });
  const plain = own.map(() => ({ tokens: 1, width: 1, drafting: 0 }));
  return [
    { name: "you", source: YOU, passes: own },
    ...others,
    { name: "plain", source: "target", passes: plain },
  ];
}

/** A game as if the present text were its only one. */
export const onText = (play: Play): Play => ({
  ...play,
  passes: play.passes.map((all, k) => (k === play.act ? all : [])),
});

/** The others at the end of the game, if every text has all its passes. */
export function rivalsAtEnd({ texts }: Pick<Play, "texts">): Player[] {
  const nothing: Played = { accepted: 0, own: 0, width: 1, fates: [], at: 0, words: [] };
  const passes = texts.map((text) => Array.from({ length: text.passes }, () => nothing));
  return playersOf({ ...begin(texts), passes }).slice(1);
}

/**
 * Words to copy, as copying does: what followed the longest match of the last tokens with earlier
 * ones, as many tokens as match; empty where fewer than two do. A copy that reaches the end of the
 * text continues with itself.
 */
export function copiedWords(play: Play): string[] {
  const { tokens } = textOf(play).plain;
  const { at } = play;
  const matched = (end: number) => {
    let length = 0;
    while (length < end && tokens[end - 1 - length].token_id === tokens[at - 1 - length].token_id)
      length += 1;
    return length;
  };
  let from = 0;
  let longest = 1;
  for (let end = at - 1; end > 0; end--) {
    const length = matched(end);
    if (length > longest) [from, longest] = [end, length];
  }
  if (!from) return [];
  const copy = Array.from({ length: longest }, (_, k) => tokens[from + (k % (at - from))].text);
  const words = copy.join("").split(/[^\p{L}]+/u);
  return words.filter(Boolean).slice(0, MAX_WORDS);
}
