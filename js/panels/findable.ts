// Where the next token was in the text before it: found by tokens, by states, or not there
// (hsd_viz/figures/semantic.py). Pure.
import type { Store } from "../lib/run";

export type Way = "both" | "tokens" | "state" | "missed" | "absent";
/** Longest keys, and occurrences that are looked at, of the context database. */
const LONGEST = 8;
const RECENT = 4;

/**
 * What followed the latest occurrences of the longest suffix of a text that occurs before its end.
 */
function followers(text: readonly number[]): number[] {
  const last = text.length - 1;
  const same = (at: number, length: number) => {
    for (let k = 0; k < length; k++) if (text[at - k] !== text[last - k]) return false;
    return true;
  };
  let places: number[] = [];
  for (let at = last - 1; at >= 0; at--) if (text[at] === text[last]) places.push(at);
  for (let length = 2; length <= LONGEST; length++) {
    const longer = places.filter((at) => at >= length - 1 && same(at, length));
    if (!longer.length) break;
    places = longer;
  }
  return places.slice(0, RECENT).map((at) => text[at + 1]);
}

/** How a token could be found in the text before it. */
export function wayOf(text: readonly number[], token: number, byState: boolean): Way {
  if (followers(text).includes(token)) return byState ? "both" : "tokens";
  if (byState) return "state";
  const last = text[text.length - 1];
  return text.some((one, at) => at < text.length - 1 && one === last && text[at + 1] === token)
    ? "missed"
    : "absent";
}

/** The rounds of the target by the way; null if the run drafted nothing by states. */
export function waysOf(
  run: Pick<Store, "tokens" | "drafts" | "promptIds">,
): Record<Way, number> | null {
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
