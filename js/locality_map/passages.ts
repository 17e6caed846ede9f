// Passages of a text that were drafted by copying from earlier text. Pure functions.
import type { Store } from "../lib/run";

/**
 * Tokens `at` … `at + length - 1` were copied from those that begin at `from`; `source`: the
 * database that copied them.
 */
export interface Passage {
  from: number;
  at: number;
  length: number;
  source: string;
}

/**
 * Return the text of a run: ids and pieces of prompt and output, the number of prompt tokens, the
 * source of each token ("prompt" for those of the prompt), and the passages in order of their
 * copies.
 */
export function textOf(store: Store) {
  const { promptIds, tokens, pieces } = store;
  const passages: Passage[] = [];
  tokens.forEach((token, k) => {
    const position = promptIds.length + k;
    const from = store.ownDraft(token)?.position ?? -1;
    if (from < 0) return;
    const last = passages.at(-1);
    const follows =
      last?.source === token.source &&
      last.at + last.length === position &&
      last.from + last.length === from;
    if (last && follows) last.length += 1;
    else passages.push({ from, at: position, length: 1, source: token.source });
  });
  return {
    ids: [...promptIds, ...tokens.map((t) => t.token_id)],
    pieces: [...promptIds.map((id) => pieces[id] ?? `#${id}`), ...tokens.map((t) => t.text)],
    prompt: promptIds.length,
    sources: [...promptIds.map(() => "prompt"), ...tokens.map((t) => t.source)],
    passages,
  };
}
