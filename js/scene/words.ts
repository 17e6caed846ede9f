// Texts of the scene of a round. Pure functions of the run.
import { isWhole } from "../lib/facts";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round, Token } from "../lib/tables";
import { capital, FATES, figure, glyphs, listed, plural, WHY } from "../lib/words";
import { handedUp } from "./chain";

/** A verifier's own token; `row`: its row in the text, null below the target. */
export interface Own {
  text: string;
  source: string;
  row: Token | null;
}
/** Nodes other than draft tokens: the text so far, and the verifier's own token. */
export const ROOT = -1;
export const OWN = 1e6;

/** Return the text of a token; ∅ if it is empty. */
export const token = (text: string) => glyphs(text) || "∅";
export const isTarget = (r: Round) => r.parent === null;
const isDatabase = (name: string) => name === "db" || name === "hd";

const draftsOf = (store: Store, round: number): Draft[] => store.drafts.get(round) ?? [];

/** Return a round's index among the rounds of its parent, and the tokens it proposed to it. */
function givenBy(store: Store, { id, parent }: Round) {
  const above = parent ?? NaN;
  const siblings = (store.children.get(above) ?? []).flatMap(
    (child) => store.rounds.get(child) ?? [],
  );
  const index = siblings.findIndex((round) => round.id === id);
  return { place: index, own: handedUp(draftsOf(store, above), siblings).get(id)?.own ?? null };
}

/**
 * Return the target round for a view without a cursor: the newest one during a run, else the one
 * already `shown`, else the one with the highest `score`.
 */
function usualRound(store: Store, shown: number | null, score: (id: number) => number) {
  const ids = [...store.order.keys()];
  if (!ids.length) return null;
  if ((store.meta.wall_ns ?? null) === null) return ids[ids.length - 1];
  if (shown !== null && store.order.has(shown)) return shown; // views do not jump
  const scores = new Map(ids.map((id) => [id, score(id)]));
  const worth = (id: number) => scores.get(id) ?? 0;
  return ids.reduce((best, id) => (worth(id) > worth(best) ? id : best));
}

/** Return the text before the draft of a target round. */
function textBefore(store: Store, { id }: Round): string {
  const { rounds, placeOf } = store.index();
  const first = rounds[placeOf.get(id) ?? -1]?.first ?? 0;
  if (first > 0) return store.tokens[first - 1].text;
  return store.pieces[store.promptIds.at(-1) ?? NaN] ?? "";
}

/** Return the verifier's own token of a round, or null. */
function ownOf(store: Store, round: Round): Own | null {
  if (round.outcome === "stopped") return null;
  if (!isTarget(round)) {
    const { own } = givenBy(store, round);
    return own && { text: own.text, source: store.levelName(round.level), row: null };
  }
  const row = store.tokens.findLast((token) => token.round === round.id && token.depth === 0);
  return row ? { text: row.text, source: row.source, row } : null;
}

/** Return the event of a node of a target round, or -1. */
function stepOf(store: Store, round: number | null, node: number): number {
  const { events, rounds, placeOf } = store.index();
  const span = rounds[placeOf.get(round ?? NaN) ?? -1];
  if (!span) return -1;
  const fits = ({ kind, draft }: (typeof events)[number]) => {
    if (node === ROOT) return kind === "draft";
    return node === OWN ? kind === "token" : draft?.node === node;
  };
  const index = events.slice(span.begin, span.end).findIndex(fits);
  return index < 0 ? -1 : span.begin + index;
}

/** Return the title of a round; `top` is its target round. */
function titleOf(store: Store, round: Round, top: number): string {
  const title = `Round ${store.order.get(top)} of ${store.order.size}`;
  if (isTarget(round)) return title;
  return `${title}, ${store.levelName(round.level)}’s round ${givenBy(store, round).place + 1}`;
}

/**
 * Return the number of draft tokens that a round decided on. A rule that verifies a draft as a
 * whole decides on all of them, while `examined` counts only up to the first one not accepted.
 */
const judgedBy = (store: Store, r: Round): number =>
  isWhole(r.rule)
    ? draftsOf(store, r.id).filter((d) => d.verdict !== "unreached").length
    : r.examined;

/** Explain why a round had no draft. */
function undraftedText(store: Store, round: Round): string {
  const by = capital(store.actor(round));
  const why = round.why_no_draft ?? "";
  const ownText = ownOf(store, round) ? ` ${by} generated its own token.` : "";
  return `No draft: ${WHY[why] ?? (why || "reason not recorded")}.${ownText}`;
}

/** Descriptions of the end of a round, by outcome. */
const ENDS: Record<Round["outcome"], string> = {
  correction: "a correction",
  bonus: "a bonus token",
  stopped: "the text ended",
  plain: "a plain token",
};

function summaryOf(store: Store, palette: Pick<Palette, "phrase">, round: Round): string {
  const drafts = draftsOf(store, round.id);
  if (!drafts.length) return undraftedText(store, round);
  const by = capital(store.actor(round));
  const sources = listed([...new Set(drafts.map((d) => d.source))].map(palette.phrase));
  const drafted = `${plural(drafts.length, "token")} drafted by ${sources}.`;
  const isUnsure = round.draft_end === "confidence";
  const unsure = isUnsure ? " The draft stopped because it was unsure." : "";
  const verb = isWhole(round.rule) ? "judged" : "examined";
  const asWhole = isWhole(round.rule) ? " as a whole" : "";
  const judged = `${verb} ${plural(judgedBy(store, round), "position")}${asWhole}`;
  const fate = `accepted ${round.accepted || "none"}, then ${ENDS[round.outcome]}`;
  return `${drafted}${unsure} ${by} ${judged} and ${fate}.`;
}

/** Describe a draft token for screen readers. */
function nodeText(palette: Pick<Palette, "phrase">, d: Draft): string {
  const p = d.p === null ? "" : `, p ${figure(d.p)}`;
  const q = d.u === null ? "" : `, q ${figure(d.q)}`;
  const origin = `drafted by ${palette.phrase(d.source)}`;
  return `position ${d.depth}, ${token(d.text)}: ${FATES[d.verdict]}, ${origin}${p}${q}`;
}

/** Return the name of the drafters of the lowest level. */
function sourceName({ levels }: Pick<Store, "levels">): string {
  const lowest = levels[0] ?? "";
  return isDatabase(lowest) ? "databases" : lowest;
}

export type Reading = ReturnType<typeof createReading>;

/** Return functions for the texts of a run; they read the current state of the store. */
export const createReading = (store: Store, palette: Pick<Palette, "phrase">) => ({
  usual: (shown: number | null, score: (id: number) => number) => usualRound(store, shown, score),
  before: (round: Round) => textBefore(store, round),
  ownOf: (round: Round) => ownOf(store, round),
  stepOf: (round: number | null, node: number) => stepOf(store, round, node),
  titleOf: (round: Round, top: number) => titleOf(store, round, top),
  judgedBy: (round: Round) => judgedBy(store, round),
  summaryOf: (round: Round) => summaryOf(store, palette, round),
  nodeText: (draft: Draft) => nodeText(palette, draft),
  sourceName: () => sourceName(store),
});
