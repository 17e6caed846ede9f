// The course of the drafter's game: what is proposed, and what each verification brought. Pure:
// every step returns a new state.
import type { Store } from "../lib/run";
import { MOST, type Proposed, type Result, verify } from "./game";

/** A stack, and the tokens of each of its target rounds. */
export interface Racer {
  name: string;
  counts: number[];
}
export interface Game {
  /** What `run` is: a recorded run, or one that is decoded here. */
  source: "recorded" | "live";
  /** Whether a decode is awaited: nothing can be added. */
  isWaiting: boolean;
  /** Why the last decode failed; "": it did not. */
  trouble: string;
  /** The run whose target verifies, and the place in it. */
  run: Store;
  at: number;
  /** The text before the game, and what was written after it. */
  prompt: string;
  written: readonly { text: string; mine: boolean }[];
  proposal: readonly Proposed[];
  /** Tokens of each of the visitor's passes. */
  counts: readonly number[];
  /** The last verification, with the target's own token. */
  result: { verdict: Result; own: string } | null;
  /** Stacks that were decoded beside a live game. */
  racers: readonly Racer[];
}

/** A game on a recorded run. */
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

/** Begin a live game on the first tokens of a run. */
export const goLive = (game: Game, run: Store): Game => ({
  ...game,
  source: "live",
  isWaiting: false,
  run,
  prompt: run.prompt,
});

/**
 * Continue a live game on a run that follows its text: the text before may be cut into other
 * tokens, so the proposal counts as typed.
 */
export const proceed = (game: Game, run: Store): Game => ({
  ...game,
  source: "live",
  isWaiting: false,
  run,
  at: 0,
  proposal: [{ id: null, text: game.proposal.map(({ text }) => text).join("") }],
});

/** A decode failed: the game continues on the run that it has. */
export const fail = (game: Game, trouble: string): Game => ({
  ...game,
  isWaiting: false,
  trouble,
});

export const addRacer = (game: Game, racer: Racer): Game => ({
  ...game,
  racers: [...game.racers, racer],
});

/** Propose a token or a typed text; an empty one is none. */
export const propose = (game: Game, part: Proposed): Game =>
  part.text === "" && part.id === null ? game : { ...game, proposal: [...game.proposal, part] };

export const undo = (game: Game): Game => ({ ...game, proposal: game.proposal.slice(0, -1) });

/** Verify the proposal: what was accepted is written, with the target's own token. */
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

/** The text of the game so far. */
export const textOf = ({ prompt, written }: Game): string =>
  prompt + written.map(({ text }) => text).join("");

/** Whether the recorded text has ended. */
export const isDone = ({ isWaiting, at, run }: Game): boolean =>
  !isWaiting && at >= run.tokens.length;

/** Whether nothing can be added: typed text ends a proposal, and so does the recorded text. */
export function isFull({ source, isWaiting, proposal, at, run }: Game): boolean {
  if (isWaiting || proposal.length >= MOST) return true;
  if (proposal.some((part) => part.id === null)) return true;
  return source === "recorded" && at + proposal.length >= run.tokens.length - 1;
}

/** The players: the visitor, then the stacks of a live game or the recorded ones. */
export function playersOf(game: Game, recorded: readonly Racer[]): Racer[] {
  const others = game.source === "live" ? game.racers : recorded;
  return [{ name: "you", counts: [...game.counts] }, ...others];
}
