// The state of the drafter's game. Pure: every function returns a new state.
import type { Store } from "../lib/run";
import { MOST, type ProposalPart, type Result, verify } from "./game";

/** A player: the name of its stack, and the number of tokens of each target round. */
export interface Racer {
  name: string;
  counts: number[];
}
export interface Game {
  /** Whether `run` is a recorded run or one that is decoded here. */
  source: "recorded" | "live";
  /** Whether a decode is in progress, so that nothing can be proposed. */
  isWaiting: boolean;
  /** Message of the last decode if it failed; "": it did not. */
  trouble: string;
  /** Run whose target verifies, and the current position in it. */
  run: Store;
  at: number;
  /** Text before the game, and the tokens written in it. */
  prompt: string;
  written: readonly { text: string; mine: boolean }[];
  proposal: readonly ProposalPart[];
  /** Number of tokens of each of the visitor's passes. */
  counts: readonly number[];
  /** Last verdict, with the text of the target's own token; null: none yet. */
  result: { verdict: Result; own: string } | null;
  /** Stacks that were decoded for a live game. */
  racers: readonly Racer[];
}

/** Start a game on a recorded run. */
export const fresh = (store: Store): Game => ({
  source: "recorded",
  isWaiting: false,
  trouble: "",
  run: store,
  at: 0,
  prompt: store.prompt,
  written: [],
  proposal: [],
  counts: [],
  result: null,
  racers: [],
});

export const wait = (game: Game): Game => ({ ...game, isWaiting: true });

/** Start a live game on the first tokens of a run. */
export const goLive = (game: Game, run: Store): Game => ({
  ...game,
  source: "live",
  isWaiting: false,
  run,
  prompt: run.prompt,
});

/**
 * Continue a live game with a run after its text. The proposal counts as typed text, since the text
 * may be tokenized differently in that run.
 */
export const proceed = (game: Game, run: Store): Game => ({
  ...game,
  source: "live",
  isWaiting: false,
  run,
  at: 0,
  proposal: [{ id: null, text: game.proposal.map(({ text }) => text).join("") }],
});

/** Report a failed decode; the game continues with its present run. */
export const fail = (game: Game, trouble: string): Game => ({
  ...game,
  isWaiting: false,
  trouble,
});

export const addRacer = (game: Game, racer: Racer): Game => ({
  ...game,
  racers: [...game.racers, racer],
});

/** Add a token or a typed text to the proposal; an empty text changes nothing. */
export const propose = (game: Game, part: ProposalPart): Game =>
  part.text === "" && part.id === null ? game : { ...game, proposal: [...game.proposal, part] };

export const undo = (game: Game): Game => ({ ...game, proposal: game.proposal.slice(0, -1) });

/** Verify the proposal, and write its accepted tokens and the target's own token. */
export function check(game: Game): Game {
  const { run, at, proposal } = game;
  const verdict = verify(run, at, proposal);
  const added = run.tokens
    .slice(at, verdict.own + 1)
    .map(({ text }, k) => ({ text, mine: at + k < verdict.own }));
  return {
    ...game,
    at: verdict.own + 1,
    written: [...game.written, ...added],
    proposal: [],
    counts: [...game.counts, added.length],
    result: { verdict, own: run.tokens[verdict.own]?.text ?? "" },
  };
}

/** Return the text of the game so far. */
export const textOf = ({ prompt, written }: Game): string =>
  prompt + written.map(({ text }) => text).join("");

/** Return whether the text of the run has ended. */
export const isDone = ({ isWaiting, at, run }: Game): boolean =>
  !isWaiting && at >= run.tokens.length;

/** Return whether the proposal is complete: a typed text ends it, or the end of the run. */
export function isFull({ source, isWaiting, proposal, at, run }: Game): boolean {
  if (isWaiting || proposal.length >= MOST) return true;
  if (proposal.some((part) => part.id === null)) return true;
  return source === "recorded" && at + proposal.length >= run.tokens.length - 1;
}

/** Return the players: the visitor, then the stacks of a live game or of the recordings. */
export function playersOf(game: Game, recorded: readonly Racer[]): Racer[] {
  const opponents = game.source === "live" ? game.racers : recorded;
  return [{ name: "you", counts: [...game.counts] }, ...opponents];
}
