// The stairs of the game: passes of the model, what each brought, and what it costs where one more
// token has a price. Pure.

import type { Store } from "../lib/run";
import type { Call, Round } from "../lib/tables";

/**
 * A pass of the model: the tokens that it brought, those that it read, and the nanoseconds that
 * finding the draft took.
 */
export interface Pass {
  tokens: number;
  width: number;
  drafting: number;
  /** Which of its tokens were filled in between the words of a visitor; of others, none. */
  filled?: readonly boolean[];
}
/**
 * The share of a pass that one token more costs on a GPU: a Llama with one billion weights,
 * compiled, 8 tokens beside 1, on an H100 (docs/bench/gpu-h100.json).
 */
export const GPU_PRICE = 0.012;
/** What a pass costs: nanoseconds over one token, and the share of that for each token more. */
export interface Price {
  one: number;
  more: number;
}
/** Shares of a pass that are closer are shown as the same percentage. */
const SAME_PRICE = 0.005;
export const isSamePrice = (one: number, other: number) => Math.abs(one - other) < SAME_PRICE;
export interface Player {
  /** Its name, or which of the texts is its name. */
  name: string;
  /** The source whose colour it has; "": none. */
  source: string;
  passes: Pass[];
}

type Run = Pick<Store, "rounds" | "calls" | "index">;
const isPass = (call: Call, round: Round) =>
  call.round === round.id && call.level === round.level && call.kind === "verify";

/** The passes of a recorded run that begin at place `from` of its text or later. */
export function passesOf(run: Run, from: number): Pass[] {
  return run
    .index()
    .rounds.filter((span) => span.first >= from)
    .map((span) => {
      const round = run.rounds.get(span.id) as Round;
      const pass = run.calls.find((call) => isPass(call, round));
      const width = pass?.fed ?? 1;
      const drafting = Math.max(0, round.duration_ns - (pass?.duration_ns ?? round.duration_ns));
      return { tokens: span.count, width, drafting };
    });
}

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

/**
 * The price of a pass by the recorded ones: medians by width, and the line through them from the
 * pass over one token.
 */
export function priceOf(runs: readonly Run[]): Price {
  const byWidth = new Map<number, number[]>();
  for (const run of runs)
    for (const { id } of run.index().rounds) {
      const round = run.rounds.get(id) as Round;
      const pass = run.calls.find((call) => isPass(call, round));
      if (pass) byWidth.set(pass.fed, [...(byWidth.get(pass.fed) ?? []), pass.duration_ns]);
    }
  const widths = [...byWidth.keys()].sort((a, b) => a - b);
  const one = median(byWidth.get(widths[0]) ?? []);
  let products = 0;
  let squares = 0;
  for (const width of widths.slice(1)) {
    const more = width - widths[0];
    const passes = byWidth.get(width) ?? [];
    products += passes.length * more * (median(passes) / one - 1);
    squares += passes.length * more ** 2;
  }
  return { one, more: squares ? Math.max(0, products / squares) : 0 };
}

export const costOf = ({ width, drafting }: Pass, { one, more }: Price) =>
  one * (1 + more * (width - 1)) + drafting;

/**
 * A corner of a stair: passes and nanoseconds so far, tokens before and after the riser, and which
 * of them were filled in.
 */
export interface Corner {
  passes: number;
  ns: number;
  low: number;
  high: number;
  filled: readonly boolean[];
}
export function cornersOf(passes: readonly Pass[], price: Price): Corner[] {
  let ns = 0;
  let high = 0;
  return passes.map((pass, k) => {
    ns += costOf(pass, price);
    const low = high;
    high += pass.tokens;
    return { passes: k + 1, ns, low, high, filled: pass.filled ?? [] };
  });
}

/** The score: all tokens of the text, those that were filled in included. */
export const tokensOf = (passes: readonly Pass[]) =>
  passes.reduce((sum, pass) => sum + pass.tokens, 0);
/** Whether a token was filled in for the visitor. */
export const hasFilled = (passes: readonly Pass[]) =>
  passes.some(({ filled }) => filled?.includes(true));
/** The tokens of a pass, on average; 0 without one. */
export const tokensPerPass = (passes: readonly Pass[]) =>
  passes.length ? tokensOf(passes) / passes.length : 0;
/** How many times as fast as one token in each pass; 0 without a pass. */
export const gainOf = (passes: readonly Pass[], price: Price) =>
  tokensPerPass(passes) / (passCost(passes, price) || 1);
/** What a pass costs on average, drafting included, in passes over one token; 0 without a pass. */
export function passCost(passes: readonly Pass[], price: Price): number {
  const ns = passes.reduce((sum, pass) => sum + costOf(pass, price), 0);
  return passes.length ? ns / (passes.length * price.one) : 0;
}
/**
 * The price of one more token at which some passes are as fast as one token in each; infinite where
 * they read one token each.
 */
export function breakEven(passes: readonly Pass[], { one }: Price): number {
  const more = passes.reduce((sum, { width }) => sum + width - 1, 0);
  const drafting = passes.reduce((sum, pass) => sum + pass.drafting, 0);
  const saved = tokensOf(passes) - passes.length - drafting / one;
  return more ? saved / more : Infinity;
}
/** A player with the price at which it is as slow as plain decoding. */
export interface Turn extends Player {
  /** Whether it is the visitor. */
  isYou: boolean;
  more: number;
}
/** The players whom some price of one more token makes slower than plain decoding, in its order. */
export const turnsOf = (players: readonly Player[], price: Price): Turn[] =>
  players
    .map((player, k) => ({ ...player, isYou: !k, more: breakEven(player.passes, price) }))
    .filter(({ more }) => more > 0 && more < 1)
    .sort((a, b) => a.more - b.more);
/** Nanoseconds to so many tokens at the mean rate of some passes. */
export const timeTo = (tokens: number, passes: readonly Pass[], price: Price) =>
  (tokens * price.one) / (gainOf(passes, price) || 1);
/** Some players, the fastest first; the earlier one of equals. */
export const ranked = <P extends Pick<Player, "passes">>(players: readonly P[], price: Price) =>
  [...players].sort((a, b) => gainOf(b.passes, price) - gainOf(a.passes, price));

/** Texts of a day: the same for everybody, another one tomorrow. */
export const seedOf = (day: Date) =>
  Math.floor(Date.UTC(day.getFullYear(), day.getMonth(), day.getDate()) / 86_400_000);
export const playOf = (plays: readonly string[][], seed: number): string[] =>
  plays[Math.abs(seed) % plays.length] ?? [];
