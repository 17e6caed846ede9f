// Classifies whether the next token could be found in the text before it, by equal tokens or by
// similar states (hsd_viz/figures/semantic.py). Pure functions.
import type { Store } from "../lib/run";

export type FindingWay = "both" | "tokens" | "state" | "missed" | "absent";
/** Maximum key length of the context database, and number of occurrences that it considers. */
const MAX_KEY_LENGTH = 8;
const RECENT = 4;

/** Return the tokens after the latest earlier occurrences of the longest repeated suffix. */
function followers(text: readonly number[]): number[] {
  const last = text.length - 1;
  const isSame = (at: number, length: number) => {
    for (let k = 0; k < length; k++) if (text[at - k] !== text[last - k]) return false;
    return true;
  };
  let places: number[] = [];
  for (let at = last - 1; at >= 0; at--) if (text[at] === text[last]) places.push(at);
  for (let length = 2; length <= MAX_KEY_LENGTH; length++) {
    const longer = places.filter((at) => at >= length - 1 && isSame(at, length));
    if (!longer.length) break;
    places = longer;
  }
  return places.slice(0, RECENT).map((at) => text[at + 1]);
}

/** Classify how the next token could be found in the text before it. */
export function wayOf(text: readonly number[], token: number, byState: boolean): FindingWay {
  if (followers(text).includes(token)) return byState ? "both" : "tokens";
  if (byState) return "state";
  const last = text[text.length - 1];
  return text.some((other, at) => at < text.length - 1 && other === last && text[at + 1] === token)
    ? "missed"
    : "absent";
}

/** Count target rounds by the way of their first token; null without drafts by states. */
export function waysOf(
  run: Pick<Store, "tokens" | "drafts" | "promptIds">,
): Record<FindingWay, number> | null {
  const proposed = new Set<string>();
  for (const drafts of run.drafts.values())
    for (const { round, depth, cosine, token_id } of drafts)
      if (depth === 1 && cosine !== null) proposed.add(`${round} ${token_id}`);
  if (!proposed.size) return null;
  const ways = { both: 0, tokens: 0, state: 0, missed: 0, absent: 0 };
  const text = [...run.promptIds];
  let before = -1;
  for (const { round, token_id } of run.tokens) {
    if (round !== before) ways[wayOf(text, token_id, proposed.has(`${round} ${token_id}`))] += 1;
    before = round;
    text.push(token_id);
  }
  return ways;
}
