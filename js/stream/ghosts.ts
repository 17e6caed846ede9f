// "Ghosts": rejected draft tokens that are shown before a token of the text. Pure functions.
import type { Store } from "../lib/run";
import type { Draft } from "../lib/tables";

/** Maximum number of ghosts per round; the card lists all. */
const MAX_GHOSTS = 2;

/** Return the first rejected branch of a round, and the number of other tokens not accepted. */
export function ghostsOf(drafts: readonly Draft[]): { shown: Draft[]; others: number } {
  const branch: Draft[] = [];
  let node = drafts.find((draft) => draft.verdict === "rejected");
  while (node && branch.length < MAX_GHOSTS) {
    const { node: parent }: Draft = node;
    branch.push(node);
    node = drafts.find((draft) => draft.parent === parent && draft.verdict !== "accepted");
  }
  const dropped = drafts.filter(({ verdict }) => verdict === "rejected" || verdict === "unreached");
  return { shown: branch, others: branch.length ? dropped.length - branch.length : 0 };
}

/** Return the event of a draft token's rejection, or of an ancestor's; -1: none. */
export function stepOfGhost(store: Pick<Store, "drafts" | "index">, round: number, node: number) {
  const drafts = store.drafts.get(round) ?? [];
  const draftAt = (place: number) => drafts.find((draft) => draft.node === place);
  let draft = draftAt(node);
  while (draft && draft.verdict !== "rejected") draft = draftAt(draft.parent);
  return store.index().events.findIndex((event) => event.draft !== null && event.draft === draft);
}
