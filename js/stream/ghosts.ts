// The rejected draft tokens that are shown before a token of the text. Pure.
import type { Store } from "../lib/run";
import type { Draft } from "../lib/tables";

/** Ghosts of a round, at most; the card lists all. */
const MOST = 2;

/** The most likely rejected branch of a round, and how many other tokens were not accepted. */
export function ghostsOf(drafts: readonly Draft[]): { shown: Draft[]; others: number } {
  const shown: Draft[] = [];
  let node = drafts.find((draft) => draft.verdict === "rejected");
  while (node && shown.length < MOST) {
    const { node: parent }: Draft = node;
    shown.push(node);
    node = drafts.find((draft) => draft.parent === parent && draft.verdict !== "accepted");
  }
  const dropped = drafts.filter(({ verdict }) => verdict === "rejected" || verdict === "unreached");
  return { shown, others: shown.length ? dropped.length - shown.length : 0 };
}

/** The event of a draft token: its rejection, or the rejection before it; -1: none. */
export function stepOfGhost(store: Pick<Store, "drafts" | "index">, round: number, node: number) {
  const drafts = store.drafts.get(round) ?? [];
  const draftAt = (place: number) => drafts.find((draft) => draft.node === place);
  let draft = draftAt(node);
  while (draft && draft.verdict !== "rejected") draft = draftAt(draft.parent);
  return store.index().events.findIndex((event) => event.draft !== null && event.draft === draft);
}
