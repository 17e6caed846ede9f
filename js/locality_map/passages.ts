// Passages of a text that were copied from earlier ones as drafts. Pure.
import type { Store } from "../lib/run";

/**
 * Tokens `at` … `at + length - 1` equal those from `from` on; `source`: the database that copied
 * them.
 */
export interface Passage {
  from: number;
  at: number;
  length: number;
  source: string;
}

/**
 * The text of a run: ids and pieces of prompt and output, the number of prompt tokens, who first
 * proposed each token ("prompt": it was given), and the passages by the place of their copies.
 */
export function textOf(store: Store) {
  const { promptIds, tokens, pieces } = store;
  const passages: Passage[] = [];
  tokens.forEach((token, k) => {
    const at = promptIds.length + k;
    const from = store.ownDraft(token)?.position ?? -1;
    if (from < 0) return;
    const last = passages.at(-1);
    const follows =
      last?.source === token.source &&
      last.at + last.length === at &&
      last.from + last.length === from;
    if (last && follows) last.length += 1;
    else passages.push({ from, at, length: 1, source: token.source });
  });
  return {
    ids: [...promptIds, ...tokens.map((t) => t.token_id)],
    pieces: [...promptIds.map((id) => pieces[id] ?? `#${id}`), ...tokens.map((t) => t.text)],
    prompt: promptIds.length,
    sources: [...promptIds.map(() => "prompt"), ...tokens.map((t) => t.source)],
    passages,
  };
}
