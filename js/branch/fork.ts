// Branching a run: continuing it from one of its positions with another token. Pure functions.
import type { Store } from "../lib/run";
import type { Meta, Snapshot } from "../lib/run_data";
import type { Token } from "../lib/tables";

/** The run that a branch continues, with the position and the other token. */
export type BranchParent = NonNullable<Meta["parent"]>;
/** A run in a tree of branches; the root has no parent. */
export interface Branch {
  run: Snapshot;
  parent: BranchParent | null;
  /** Probability of its first token at the fork, at temperature 1; null: not recorded. */
  p: number | null;
}

/** Return the text of a run before position `at`, continued with another token. */
export const prefixOf = (run: Pick<Store, "prompt" | "tokens">, at: number, text: string) =>
  run.prompt +
  run.tokens
    .slice(0, at)
    .map((token) => token.text)
    .join("") +
  text;

/** Return the number of tokens that the continued run may still emit, at least one. */
export const remaining = ({ meta, tokens }: Pick<Store, "meta" | "tokens">, at: number) =>
  Math.max(1, (meta.max_new_tokens ?? tokens.length) - at - 1);

/** Return the recorded probability of a text as the token at a position, at temperature 1. */
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

/** Return the geometric mean of the probabilities of tokens; null: none is recorded. */
export function likelihoodOf(tokens: readonly Pick<Token, "p">[]): number | null {
  const probabilities = tokens.map(({ p }) => p).filter((p): p is number => p !== null && p > 0);
  if (!probabilities.length) return null;
  return Math.exp(probabilities.reduce((sum, p) => sum + Math.log(p), 0) / probabilities.length);
}

/**
 * Return whether a run can be branched. A conversation cannot: its prompt differs from the text
 * that the model reads.
 */
export const canBranch = ({ meta, tokens }: Pick<Store, "meta" | "tokens">) =>
  tokens.length > 0 && !meta.chat;
