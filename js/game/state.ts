// The state of an open game, and the steps that change it. Pure: every step returns a new state.

import type { Snapshot } from "../lib/run_data";
import { begin, type GameText, givenOf, isLast, isOver, next, type Play, read } from "./play";
import { type Played, runOf } from "./run";
import { type Price, priceOf } from "./score";
import { bare, MAX_WORDS } from "./words";

/**
 * What is on the page: the field, a pass that the model reads, the lesson after a text; after the
 * last text the stairs over passes, the stairs over time, or the darts.
 */
export type Phase = "write" | "reading" | "lesson" | "result" | "time" | "exact";

/** How often a proposed word comes, against the model alone. */
export const GUESSES = ["less", "same", "more"] as const;
export type Guess = (typeof GUESSES)[number];

export interface Game {
  play: Play;
  phase: Phase;
  /** The content of the field. */
  draft: string;
  /** The pass that is shown while the model reads, and the play after it. */
  reading: { pass: Played; after: Play } | null;
  price: Price;
  /** The measured price of one more token; the visitor may set `price.more` to another one. */
  measured: number;
  /** The stairs: 0 over passes, 1 over time. */
  morph: number;
  /** The outcome of copying the link. */
  note: string;
  /** What the visitor expects of the darts; null: there is no guess yet. */
  guess: Guess | null;
  /** The probability q of the proposed word on the board of the darts. */
  certainty: number;
}

export function start(texts: readonly GameText[]): Game {
  const runs = texts.flatMap(({ plain, others }) => [plain, ...others.map(({ run }) => run)]);
  const price = priceOf(runs);
  return {
    play: begin(texts),
    phase: "write",
    draft: "",
    reading: null,
    price,
    measured: price.more,
    morph: 0,
    note: "",
    guess: null,
    certainty: 1,
  };
}

/** The words of the field, as many as a proposal has. */
export const proposalOf = ({ draft }: Pick<Game, "draft">): string[] =>
  draft.split(/\s+/).filter(bare).slice(0, MAX_WORDS);

/** Whether a text is on the page, rather than the results. */
export const isPlaying = ({ phase }: Pick<Game, "phase">): boolean =>
  phase === "write" || phase === "reading" || phase === "lesson";

/** Whether the results are those over time: the stairs have turned. */
export const isTimed = ({ phase, morph }: Pick<Game, "phase" | "morph">): boolean =>
  phase === "time" && morph === 1;

/** The last pass at the present text whose result was shown. */
export const lastPass = ({ play }: Pick<Game, "play">): Played | undefined =>
  play.passes[play.act].at(-1);

export const write = (game: Game, draft: string): Game => ({ ...game, draft });

/** Add a word to the proposal. */
export const addWord = (game: Game, word: string): Game =>
  write(game, `${[...proposalOf(game), word].join(" ")} `);

/** Let the model read the proposal in one pass. */
export function propose(game: Game): Game {
  const { play: after, pass } = read(game.play, proposalOf(game));
  return { ...game, phase: "reading", draft: "", reading: { pass, after } };
}

/** Show the result of the pass that was read. */
export function settle(game: Game): Game {
  if (!game.reading) return game;
  const play = game.reading.after;
  return { ...game, phase: isOver(play) ? "lesson" : "write", play, reading: null };
}

/** Continue with the next text, or with the results. */
export function advance(game: Game): Game {
  if (isLast(game.play)) return { ...game, phase: "result" };
  return { ...game, phase: "write", play: next(game.play) };
}

/** Show the stairs over time; they start over passes. */
export const showTime = (game: Game): Game => ({ ...game, phase: "time", morph: 0 });
export const turnStairs = (game: Game, morph: number): Game => ({ ...game, morph });
export const showDarts = (game: Game): Game => ({ ...game, phase: "exact" });
export const setPrice = (game: Game, more: number): Game => ({
  ...game,
  price: { ...game.price, more },
});
/** Guess what the darts will make, before they are thrown. */
export const setGuess = (game: Game, guess: Guess): Game => ({ ...game, guess });
export const setCertainty = (game: Game, certainty: number): Game => ({ ...game, certainty });
export const setNote = (game: Game, note: string): Game => ({ ...game, note });

/** Begin again with the same texts and the price as it was set. */
export const restart = ({ play, price }: Game): Game => ({ ...start(play.texts), price });

/** The text with the most passes as a run, at the measured price; undefined without a pass. */
export function runOfGame({ play, price, measured }: Game): Snapshot | undefined {
  let most = 0;
  for (const [act, passes] of play.passes.entries())
    if (passes.length > play.passes[most].length) most = act;
  const text = play.texts[most];
  const passes = play.passes[most];
  if (!passes.length) return undefined;
  return runOf(text.plain, givenOf(text), passes, { ...price, more: measured });
}
