// A run continued from a place of it with another token: what both have in common, and how likely
// each is. Pure.
import type { Store } from "../lib/run";
import type { Meta, Snapshot } from "../lib/run_data";
import type { Token } from "../lib/tables";

/** Where a run begins that continues another one. */
export type Parent = NonNullable<Meta["parent"]>;
/** A run and its place in the list of those with a common root; the root has no parent. */
export interface Branch {
  run: Snapshot;
  parent: Parent | null;
  /** The probability of its first token at the fork, at temperature 1; null: not recorded. */
  p: number | null;
}

/** The text before a place of a run, continued with another token. */
export const prefixOf = (run: Pick<Store, "prompt" | "tokens">, at: number, text: string) =>
  run.prompt +
  run.tokens
    .slice(0, at)
    .map((token) => token.text)
    .join("") +
  text;

/** Tokens that the continued run still has, one at least. */
export const remaining = ({ meta, tokens }: Pick<Store, "meta" | "tokens">, at: number) =>
  Math.max(1, (meta.max_new_tokens ?? tokens.length) - at - 1);

/** The recorded probability of a text as the token at a place, at temperature 1. */
export function chanceOf(
  { tokens, pieces }: Pick<Store, "tokens" | "pieces">,
  at: number,
  text: string,
): number | null {
  const token = tokens[at];
  if (token?.text === text) return token.p;
  const row = token?.top?.find(([id]) => pieces[id] === text);
  return row ? row[1] : null;
}

/** The geometric mean of the probabilities of tokens; null without one. */
export function likelihoodOf(tokens: readonly Pick<Token, "p">[]): number | null {
  const known = tokens.map(({ p }) => p).filter((p): p is number => p !== null && p > 0);
  if (!known.length) return null;
  return Math.exp(known.reduce((sum, p) => sum + Math.log(p), 0) / known.length);
}

/**
 * Whether a run can be continued elsewhere: a conversation's prompt is not the text that its model
 * reads.
 */
export const canBranch = ({ meta, tokens }: Pick<Store, "meta" | "tokens">) =>
  tokens.length > 0 && !meta.chat;
