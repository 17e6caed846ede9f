// The visitor as a drafter: proposals for the next tokens of a run, verified by the tokens that its
// target recorded. Pure.
import type { Store } from "../lib/run";

/** Tokens of a proposal at most, and tokens to choose from. */
export const MOST = 8;
const CHOICES = 6;

export interface Result {
  /** Proposed tokens that the target accepted, and its own token's place in the run. */
  accepted: number;
  own: number;
  /**
   * The first token that was not accepted: its text, and p at temperature 1 where it is one of the
   * recorded five.
   */
  rejected: { text: string; p: number | null } | null;
}
/** A proposed token: one of the choices, or a typed text of any number of tokens. */
export type Proposed = { id: number; text: string } | { id: null; text: string };

type Rows = Pick<Store, "tokens" | "pieces" | "drafts" | "index">;

/**
 * Tokens to choose from at place `at` of the text, by id: the recorded five of the target's row,
 * drafts, and the text's own.
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
 * Verify a proposal at place `at`: the target draws its own token at each place, as it did in the
 * run, and continues while it was proposed. Its next token is its own. This is exact: the text is
 * the recorded one for any proposal.
 */
export function verify({ tokens }: Rows, at: number, proposal: readonly Proposed[]): Result {
  let place = at;
  let rejected: Result["rejected"] = null;
  const last = tokens.length - 1;
  for (const part of proposal) {
    let rest = part.text;
    // A chosen token is compared by its id, a typed text by its characters.
    while (place < last && (part.id === null ? rest !== "" : rest === part.text)) {
      const t = tokens[place];
      const same =
        part.id === null ? t.text !== "" && rest.startsWith(t.text) : t.token_id === part.id;
      if (!same) break;
      rest = part.id === null ? rest.slice(t.text.length) : "";
      place += 1;
      if (part.id !== null) break;
    }
    if (rest === "" || place >= last) continue;
    const p =
      part.id === null ? null : (tokens[place].top?.find(([id]) => id === part.id)?.[1] ?? null);
    rejected = { text: rest, p };
    break;
  }
  return { accepted: place - at, own: place, rejected };
}

/** Tokens after `n` passes of another stack whose rounds brought these tokens. */
export const afterPasses = (counts: readonly number[], n: number) =>
  counts.slice(0, n).reduce((a, b) => a + b, 0);
