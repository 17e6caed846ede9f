// Passages of a text that repeat earlier ones: those that were copied from there as drafts, and those that were not. Pure.
import type { Store } from "../lib/run";

/** Tokens `at` … `at + length - 1` equal those from `from` on; `source`: the database that copied them; "": none did. */
export interface Passage {
  from: number;
  at: number;
  length: number;
  source: string;
}
export interface Text {
  /** Ids and pieces of prompt and output, and the number of prompt tokens. */
  ids: number[];
  pieces: string[];
  prompt: number;
  /** Who first proposed each token; "prompt": it was given. */
  sources: string[];
  /** By the place of their copies. */
  passages: Passage[];
  /** The latest earlier place with the longest equal run of tokens, and its length; -1: none. */
  again: [number, number][];
}
/** Maximum repeat length. */
const LONGEST = 32;

/** The earlier position and length of each token's longest repeat, the latest position on ties; [-1, 0] for new tokens. */
export function longestRepeats(ids: readonly number[]): [number, number][] {
  // [j + 1]: length of the run that ends at j and at the token before.
  let before = new Uint8Array(ids.length + 1);
  let now = new Uint8Array(ids.length + 1);
  return ids.map((id, i) => {
    let [at, most] = [-1, 0];
    for (let j = 0; j < i; j++) {
      const length = ids[j] === id ? Math.min(before[j] + 1, LONGEST) : 0;
      now[j + 1] = length;
      if (length && length >= most) [at, most] = [j, length];
    }
    [before, now] = [now, before];
    return [at, most];
  });
}

/** The text of a run with its passages; repeats count from `least` tokens on. */
export function textOf(store: Store): Text {
  const { promptIds, tokens, pieces } = store;
  const ids = [...promptIds, ...tokens.map((t) => t.token_id)];
  const again = longestRepeats(ids);
  const passages: Passage[] = [];
  const add = (from: number, at: number, source: string) => {
    const last = passages.at(-1);
    const follows = last && last.source === source && last.at + last.length === at && last.from + last.length === from;
    if (follows) last.length += 1;
    else passages.push({ from, at, length: 1, source });
  };
  tokens.forEach((token, k) => {
    const at = promptIds.length + k;
    const copied = store.ownDraft(token)?.position ?? -1;
    if (copied >= 0) add(copied, at, token.source);
    else if (again[at][1] > 1 || again[at][0] >= 0) add(again[at][0], at, "");
  });
  return {
    ids,
    pieces: [...promptIds.map((id) => pieces[id] ?? `#${id}`), ...tokens.map((t) => t.text)],
    prompt: promptIds.length,
    sources: [...promptIds.map(() => "prompt"), ...tokens.map((t) => t.source)],
    passages,
    again,
  };
}

/** Copied passages, and repeats of at least so many tokens. */
export const shownOf = ({ passages }: Text, least: number) =>
  passages.filter(({ source, length }) => source || length >= least);
