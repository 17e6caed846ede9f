// The visitor as a drafter: proposals for the next tokens of a run, verified with the tokens that
// its target emitted. Pure functions.
import type { Store } from "../lib/run";

/** Maximum number of tokens of a proposal, and number of tokens to choose from. */
export const MOST = 8;
const CHOICES = 6;

export interface Result {
  /** Number of accepted tokens, and position in the run of the target's own token. */
  accepted: number;
  own: number;
  /**
   * First rejected token: its text, and its p at temperature 1 if it is among the recorded five.
   */
  rejected: { text: string; p: number | null } | null;
}
/** A part of a proposal: one of the offered tokens, or a typed text of any number of tokens. */
export type ProposalPart = { id: number; text: string } | { id: null; text: string };

type Rows = Pick<Store, "tokens" | "pieces" | "drafts" | "index">;

/**
 * Return the tokens to choose from at position `at`, sorted by id: the five most likely ones of the
 * target, draft tokens, and the emitted token.
 */
export function choicesAt(store: Rows, at: number): { id: number; text: string }[] {
  const t = store.tokens[at];
  if (!t) return [];
  const ids = new Set([t.token_id]);
  const { rounds, placeOf } = store.index();
  const depth = at - (rounds[placeOf.get(t.round) ?? 0]?.first ?? 0) + 1;
  const drafts = (store.drafts.get(t.round) ?? []).filter((d) => d.depth === depth);
  for (const id of [...drafts.map((d) => d.token_id), ...(t.top ?? []).map(([id]) => id)])
    if (ids.size < CHOICES && store.pieces[id] !== undefined) ids.add(id);
  return [...ids].sort((a, b) => a - b).map((id) => ({ id, text: store.pieces[id] ?? t.text }));
}

/**
 * Verify a proposal at position `at`. The target draws the same token as in the run at each
 * position, and continues while that token was proposed; the first other one is its own token. This
 * is exact: the text equals that of the run for any proposal.
 */
export function verify({ tokens }: Rows, at: number, proposal: readonly ProposalPart[]): Result {
  let position = at;
  let rejected: Result["rejected"] = null;
  const last = tokens.length - 1;
  for (const part of proposal) {
    let untested = part.text;
    // Compare an offered token by id, a typed text by its characters.
    while (position < last && (part.id === null ? untested !== "" : untested === part.text)) {
      const t = tokens[position];
      const same =
        part.id === null ? t.text !== "" && untested.startsWith(t.text) : t.token_id === part.id;
      if (!same) break;
      untested = part.id === null ? untested.slice(t.text.length) : "";
      position += 1;
      if (part.id !== null) break;
    }
    if (untested === "" || position >= last) continue;
    const p =
      part.id === null ? null : (tokens[position].top?.find(([id]) => id === part.id)?.[1] ?? null);
    rejected = { text: untested, p };
    break;
  }
  return { accepted: position - at, own: position, rejected };
}

/** Return the number of tokens after `n` passes of a stack; `counts`: tokens of its rounds. */
export const afterPasses = (counts: readonly number[], n: number) =>
  counts.slice(0, n).reduce((a, b) => a + b, 0);
