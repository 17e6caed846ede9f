// Where a passage of the text was copied from by a database. Pure.
import type { Store } from "../lib/run";
import type { Draft, Round } from "../lib/tables";

type Rows = Pick<Store, "promptIds" | "tokens" | "drafts" | "index">;

/** A passage of a draft and its source; positions are those of the text (0: first prompt token). */
export interface Copy {
  source: string;
  round: number;
  /** Positions of the source's and of the copy's first token. */
  from: number;
  at: number;
  /** Tokens copied, those of them that came into the text, and the nodes of the others. */
  length: number;
  kept: number;
  dropped: number[];
  /** Tokens before both that are equal: why the database proposed it. */
  key: number;
  /** Whether the trace has no position: it was found by the key. */
  isFound: boolean;
}

/** Whether a source copies from this text alone, so that what it copied can be found in it. */
type IsLocal = (source: string) => boolean;

/** The text before a draft token: prompt, output and its branch of the draft. */
interface Before {
  ids: readonly number[];
  branch: readonly Draft[];
}

/** The last place before the end where the key of this length precedes the token; -1: none. */
function placeOf(ids: readonly number[], key: number, token: number): number {
  const last = ids.slice(ids.length - key);
  for (let at = ids.length - 1; at >= key; at--) {
    const isHere = ids[at] === token && last.every((id, k) => id === ids[at - key + k]);
    if (isHere) return at;
  }
  return -1;
}

/** The position that a draft token was copied from: recorded, or found by its key; -1: neither. */
function positionOf(draft: Draft, { ids, branch }: Before, isLocal: IsLocal): number {
  if (draft.position !== null) return draft.position;
  if (!draft.key_length || !isLocal(draft.source)) return -1;
  const text = [...ids, ...branch.map(({ token_id }) => token_id)];
  return placeOf(text, draft.key_length, draft.token_id);
}

/** The branch of a draft through one of its tokens: its parents, then what was accepted. */
function branchOf(drafts: readonly Draft[], through: Draft): Draft[] {
  const branch = [through];
  const parentOf = (one: Draft) => drafts.find(({ node }) => node === one.parent);
  for (let one = parentOf(through); one; one = parentOf(one)) branch.unshift(one);
  const childOf = (one: Draft) => {
    const children = drafts.filter(({ parent }) => parent === one.node);
    return children.find(({ verdict }) => verdict === "accepted") ?? children[0];
  };
  for (let one = childOf(through); one; one = childOf(one)) branch.push(one);
  return branch;
}

/** The passage that a draft token of a target round was copied with; null: it was not copied. */
export function copyOf(store: Rows, isLocal: IsLocal, round: number, draft: Draft): Copy | null {
  const { rounds, placeOf } = store.index();
  const first = rounds[placeOf.get(round) ?? -1]?.first;
  if (first === undefined) return null;
  const base = store.promptIds.length + first;
  const ids = [...store.promptIds, ...store.tokens.slice(0, first).map((t) => t.token_id)];
  const branch = branchOf(store.drafts.get(round) ?? [], draft);
  const places = branch.map((one, k) =>
    positionOf(one, { ids, branch: branch.slice(0, k) }, isLocal),
  );
  const own = branch.indexOf(draft);
  if (places[own] < 0) return null;
  const continues = (k: number) =>
    places[k] >= 0 && places[k + 1] === places[k] + 1 && branch[k].source === branch[k + 1].source;
  let begin = own;
  while (begin > 0 && continues(begin - 1)) begin--;
  let end = own + 1;
  while (end < branch.length && continues(end - 1)) end++;
  const passage = branch.slice(begin, end);
  const isKept = ({ verdict }: Draft) => verdict === "accepted";
  return {
    source: draft.source,
    round,
    from: places[begin],
    at: base + begin,
    length: passage.length,
    kept: passage.filter(isKept).length,
    dropped: passage.filter((one) => !isKept(one)).map(({ node }) => node),
    key: Math.min(places[begin], passage[0].key_length ?? 0),
    isFound: draft.position === null,
  };
}

/** The copy under an event: of its draft token, or of the first one of a draft. */
export function copyAt(store: Rows, isLocal: IsLocal, step: number): Copy | null {
  const event = store.index().events[step];
  if (!event || event.kind === "token") return null;
  const draft = event.draft ?? store.drafts.get(event.round)?.[0];
  return draft ? copyOf(store, isLocal, event.round, draft) : null;
}

/** The copy that explains a run: that of its example, else the longest one in the text. */
export function firstCopy(
  store: Rows & Pick<Store, "ownDraft">,
  isLocal: IsLocal,
  example: { round: Round; draft: Draft } | null,
): Copy | null {
  const own = example && copyOf(store, isLocal, example.round.id, example.draft);
  if (own?.kept) return own;
  let best: Copy | null = null;
  for (const token of store.tokens) {
    const draft = store.ownDraft(token);
    const copy = draft && copyOf(store, isLocal, token.round, draft);
    if (copy && copy.kept > (best?.kept ?? 0)) best = copy;
  }
  return best;
}

/** Where a passage was copied from, and why from there. */
export function copyWords({ from, key, isFound }: Copy, prompt: number): string {
  const where = from < prompt ? "the prompt" : "the output above";
  const same = key === 1 ? "the token before it is" : `the ${key} tokens before it are`;
  const why = key ? `: ${same} the same there` : "";
  return `Copied from ${where}${why}${isFound ? " (found by these, not recorded)" : ""}.`;
}
