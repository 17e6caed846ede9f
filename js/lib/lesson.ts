// Scores how well a round, seen alone, explains drafting. Pure functions.
import type { Store } from "./run";
import type { Draft, Round } from "./tables";

type Rows = Pick<Store, "rounds" | "drafts" | "children" | "tokens">;

/** Maximum number of draft tokens that are read at a glance. */
const SHORT = 10;
/** Probability from which a round's own token is not surprising. */
const LIKELY = 0.1;

/**
 * What darts on both sides are worth: more than a second accepted token and a likely own token,
 * since of a draft that was never likely there is nothing to see.
 */
const BOTH_SIDES = 20;

/** Chances of acceptance at which a verdict is a real question. */
const CONTESTED = { least: 0.2, most: 0.8 };

const isBlank = (text: string) => !/[\p{L}\p{N}]/u.test(text);
const rejects = (drafts: readonly Draft[] = []) => drafts.some((d) => d.verdict === "rejected");
/** Return whether the rejected tokens of a round are words. */
const rejectsText = (drafts: readonly Draft[]) =>
  drafts.every((d) => d.verdict !== "rejected" || !isBlank(d.text));

/**
 * Score a target round; higher is better. Accepted tokens, ideally two, and a rejection show the
 * idea, best if darts fall on both sides (`hasBoard`). A lower level with a rejection of its own,
 * words instead of blanks and a likely own token make the round easier to read.
 */
export function lessonOf(
  store: Rows,
  id: number,
  hasBoard: (id: number) => boolean = () => false,
): number {
  const round = store.rounds.get(id);
  const drafts = store.drafts.get(id) ?? [];
  if (!round || !drafts.length) return 0;
  let score = 1;
  if (round.accepted >= 2) score += 16;
  else if (round.accepted === 1) score += 12;
  if (rejects(drafts) && round.outcome === "correction") score += rejectsText(drafts) ? 8 : 6;
  const below = store.children.get(id) ?? [];
  if (below.some((child) => rejects(store.drafts.get(child)))) score += 3;
  if (hasBoard(id)) score += BOTH_SIDES;
  const ownToken = store.tokens.findLast((token) => token.round === id && token.depth === 0);
  if ((ownToken?.p ?? 0) > LIKELY) score += 2;
  if (drafts.length <= SHORT) score += 1;
  const texts = [...drafts.map((d) => d.text), ...(ownToken ? [ownToken.text] : [])];
  return score - (4 * texts.filter(isBlank).length) / texts.length;
}

/** Return whether a draft token could well have been accepted, or rejected. */
export function isContested({ p, q, u }: Pick<Draft, "p" | "q" | "u">): boolean {
  if (p === null) return false;
  const chance = u === null || !q ? p : Math.min(1, p / q);
  return chance >= CONTESTED.least && chance <= CONTESTED.most;
}

/** Bonus for rejected words; exceeds any other score, because a blank explains nothing. */
const WORDS = 100;

/**
 * Return the draft token that explains a run best: the first rejected token of its best round, else
 * the first draft token of that round.
 */
export function exampleOf(store: Rows): { round: Round; draft: Draft } | null {
  let best: Round | null = null;
  let bestScore = 0;
  for (const round of store.rounds.values()) {
    const rows = store.drafts.get(round.id) ?? [];
    const bonus = rejects(rows) && rejectsText(rows) ? WORDS : 0;
    const first = rows.find((one) => one.verdict === "rejected");
    const hasBoard = () => first !== undefined && isContested(first);
    const score =
      round.parent === null && rows.length ? lessonOf(store, round.id, hasBoard) + bonus : 0;
    if (score > bestScore) {
      bestScore = score;
      best = round;
    }
  }
  const drafts = best ? (store.drafts.get(best.id) ?? []) : [];
  const draft = drafts.find((row) => row.verdict === "rejected") ?? drafts[0];
  return best && draft ? { round: best, draft } : null;
}
