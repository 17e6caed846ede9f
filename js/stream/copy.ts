// Finds the source of a passage that a database copied. Pure functions.
import type { Store } from "../lib/run";
import type { Draft, Round } from "../lib/tables";

type Rows = Pick<Store, "promptIds" | "tokens" | "drafts" | "index">;

/** A copied passage of a draft. Positions are those of the text (0: first prompt token). */
export interface Copy {
  source: string;
  round: number;
  /** Positions of the first tokens of the source and of the copy. */
  from: number;
  at: number;
  /** Number of copied tokens, of those accepted into the text, and the nodes of the others. */
  length: number;
  kept: number;
  dropped: number[];
  /** Number of equal tokens before both, because of which the database proposed the passage. */
  key: number;
  /** Whether the source was found by its key, because the trace has no position. */
  isFound: boolean;
}

/** Returns whether a source copies only from this text, so that its copies can be found in it. */
type IsLocal = (source: string) => boolean;

/** The text before a draft token: prompt, output and its branch of the draft. */
interface TextBefore {
  ids: readonly number[];
  branch: readonly Draft[];
}

/** Return the last position of `token` after the final `key` ids of the text; -1: none. */
function placeOf(ids: readonly number[], key: number, token: number): number {
  const keyIds = ids.slice(ids.length - key);
  for (let at = ids.length - 1; at >= key; at--) {
    const isHere = ids[at] === token && keyIds.every((id, k) => id === ids[at - key + k]);
    if (isHere) return at;
  }
  return -1;
}

/** Return the position that a draft token was copied from, recorded or found; -1: unknown. */
function positionOf(draft: Draft, { ids, branch }: TextBefore, isLocal: IsLocal): number {
  if (draft.position !== null) return draft.position;
  if (!draft.key_length || !isLocal(draft.source)) return -1;
  const text = [...ids, ...branch.map(({ token_id }) => token_id)];
  return placeOf(text, draft.key_length, draft.token_id);
}

/** Return the branch of a draft through a token: its ancestors, then its accepted descendants. */
function branchOf(drafts: readonly Draft[], through: Draft): Draft[] {
  const branch = [through];
  const parentOf = (draft: Draft) => drafts.find(({ node }) => node === draft.parent);
  for (let ancestor = parentOf(through); ancestor; ancestor = parentOf(ancestor))
    branch.unshift(ancestor);
  const childOf = (draft: Draft) => {
    const children = drafts.filter(({ parent }) => parent === draft.node);
    return children.find(({ verdict }) => verdict === "accepted") ?? children[0];
  };
  for (let descendant = childOf(through); descendant; descendant = childOf(descendant))
    branch.push(descendant);
  return branch;
}

/** Return the copied passage that contains a draft token of a target round; null: not copied. */
export function copyOf(store: Rows, isLocal: IsLocal, round: number, draft: Draft): Copy | null {
  const { rounds, placeOf } = store.index();
  const first = rounds[placeOf.get(round) ?? -1]?.first;
  if (first === undefined) return null;
  const base = store.promptIds.length + first;
  const ids = [...store.promptIds, ...store.tokens.slice(0, first).map((t) => t.token_id)];
  const branch = branchOf(store.drafts.get(round) ?? [], draft);
  const places = branch.map((draft, k) =>
    positionOf(draft, { ids, branch: branch.slice(0, k) }, isLocal),
  );
  const index = branch.indexOf(draft);
  if (places[index] < 0) return null;
  const continues = (k: number) =>
    places[k] >= 0 && places[k + 1] === places[k] + 1 && branch[k].source === branch[k + 1].source;
  let begin = index;
  while (begin > 0 && continues(begin - 1)) begin--;
  let end = index + 1;
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
    dropped: passage.filter((draft) => !isKept(draft)).map(({ node }) => node),
    key: Math.min(places[begin], passage[0].key_length ?? 0),
    isFound: draft.position === null,
  };
}

/** Return the copy at an event: that of its draft token, or of the first token of its draft. */
export function copyAt(store: Rows, isLocal: IsLocal, step: number): Copy | null {
  const event = store.index().events[step];
  if (!event || event.kind === "token") return null;
  const draft = event.draft ?? store.drafts.get(event.round)?.[0];
  return draft ? copyOf(store, isLocal, event.round, draft) : null;
}

/** Return the copy that explains a run: that of its example, else the longest one in the text. */
export function firstCopy(
  store: Rows & Pick<Store, "ownDraft">,
  isLocal: IsLocal,
  example: { round: Round; draft: Draft } | null,
): Copy | null {
  const exampleCopy = example && copyOf(store, isLocal, example.round.id, example.draft);
  if (exampleCopy?.kept) return exampleCopy;
  let best: Copy | null = null;
  for (const token of store.tokens) {
    const draft = store.ownDraft(token);
    const copy = draft && copyOf(store, isLocal, token.round, draft);
    if (copy && copy.kept > (best?.kept ?? 0)) best = copy;
  }
  return best;
}

/** Describe where a passage was copied from, and why. */
export function copyText({ from, key, isFound }: Copy, prompt: number): string {
  const where = from < prompt ? "the prompt" : "the output above";
  const equality = key === 1 ? "the token before it is" : `the ${key} tokens before it are`;
  const why = key ? `: ${equality} the same there` : "";
  return `Copied from ${where}${why}${isFound ? " (found by these, not recorded)" : ""}.`;
}
