// Texts of the scene of a round, from the run only. Pure.

import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round, Token } from "../lib/tables";
import { figure, glyphs, plural } from "../lib/words";
import { handedUp, whyNothing } from "./round";

/** A verifier's own token; `row` is that of the target's text. */
export interface Own {
  text: string;
  id: number;
  source: string;
  row: Token | null;
}

/** Keys of tree nodes other than draft tokens: the text so far, and the verifier's own token. */
export const ROOT = -1;
export const OWN = 1e6;

/** Labels of verdicts. */
export const FATES: Record<string, string> = {
  accepted: "accepted",
  rejected: "rejected",
  unreached: "not examined",
  cut: "matched, but cut at the end of the text",
};

/** Capitalize "the"; names keep their case. */
export const capital = (words: string) => words.replace(/^the /, "The ");
/** A token's text on one line; ∅ if empty. */
export const token = (text: string) => glyphs(text) || "∅";
export const isTarget = (r: Round) => r.parent === null;

/** All functions read the current store. */
export function createReading({ store, palette }: { store: Store; palette: Pick<Palette, "phrase"> }) {
  const levelName = (l: number) => store.levels[l] ?? `level ${l}`;
  const actor = (r: Round) => (isTarget(r) ? "the target" : levelName(r.level));
  /** The rounds of the same parent round, in order. */
  const siblings = (r: Round) =>
    (store.children.get(r.parent ?? NaN) || []).flatMap((id) => store.rounds.get(id) ?? []);

  /** The target round shown without a cursor: the newest during a run, else the one `shown`, initially one with a draft. */
  function usual(shown: number | null) {
    const ids = [...store.order.keys()];
    if (!ids.length) return null;
    if ((store.meta.wall_ns ?? null) === null) return ids[ids.length - 1];
    if (shown !== null && store.order.has(shown)) return shown; // views do not jump
    return ids.find((id) => (store.rounds.get(id)?.drafted ?? 0) > 0) ?? ids[0];
  }

  /** The text before a round's draft. */
  function before(r: Round): string {
    if (isTarget(r)) {
      const { rounds, placeOf } = store.index();
      const first = rounds[placeOf.get(r.id) ?? -1]?.first ?? 0;
      if (first > 0) return store.tokens[first - 1].text;
      const last = store.promptIds[store.promptIds.length - 1];
      return store.pieces[last] ?? "";
    }
    const above = store.rounds.get(r.parent ?? NaN) as Round;
    const drafts = store.drafts.get(above.id) || [];
    const given = handedUp(drafts, siblings(r)).get(r.id);
    return given && given.first > 0 ? drafts[given.first - 1].text : before(above);
  }

  /** The verifier's own token of a round: {text, id, source, row (of the target's text)}, or null. */
  function ownOf(r: Round): Own | null {
    if (r.outcome === "stopped") return null;
    if (isTarget(r)) {
      const t = store.tokens.findLast((t) => t.round === r.id && t.depth === 0);
      return t ? { text: t.text, id: t.token_id, source: t.source, row: t } : null;
    }
    const given = handedUp(store.drafts.get(r.parent ?? NaN) || [], siblings(r)).get(r.id);
    return given?.own ? { text: given.own.text, id: given.own.token_id, source: levelName(r.level), row: null } : null;
  }

  /** The event of node `key` of a target round, or -1. */
  function stepOf(round: number | null, key: number) {
    const { events, rounds, placeOf } = store.index();
    const span = rounds[placeOf.get(round ?? NaN) ?? -1];
    if (!span) return -1;
    for (let s = span.begin; s < span.end; s++) {
      const e = events[s];
      if (key === ROOT ? e.kind === "draft" : key === OWN ? e.kind === "token" : e.draft?.node === key) return s;
    }
    return -1;
  }

  /** The title of a round; `top` is its target round. */
  function titleOf(r: Round, top: number) {
    const n = store.order.get(top);
    const title = `${store.letter && `${store.letter}: `}Round ${n} of ${store.order.size}`;
    return isTarget(r) ? title : `${title}, ${levelName(r.level)}’s round ${siblings(r).indexOf(r) + 1}`;
  }
  /** The drafter of a round. */
  function belowWords(r: Round) {
    const name = store.levels[r.level - 1];
    return name === undefined ? "no drafter" : name === "db" || name === "hd" ? "the databases" : palette.phrase(name);
  }
  /** A summary of a round. */
  function summaryOf(r: Round, drafts: Draft[], own: Own | null) {
    const by = actor(r);
    const cap = capital(by);
    if (!drafts.length)
      return `${whyNothing(r.why_no_draft, by, belowWords(r))}${own ? ` ${cap} generated its own token.` : ""}`;
    const sources = [...new Set(drafts.map((d) => d.source))].map(palette.phrase);
    const from =
      sources.length > 1 ? `${sources.slice(0, -1).join(", ")} and ${sources[sources.length - 1]}` : sources[0];
    const end = {
      correction: "then a correction",
      bonus: "then a bonus token",
      stopped: "then the text ended",
      plain: "",
    }[r.outcome];
    return `${plural(drafts.length, "token")} drafted by ${from}. ${cap} examined ${plural(r.examined, "position")} and accepted ${r.accepted || "none"}, ${end}.`;
  }
  /** A draft node for screen readers. */
  const nodeWords = (d: Draft) =>
    `position ${d.depth}, ${token(d.text)}: ${FATES[d.verdict] || d.verdict}, drafted by ${palette.phrase(d.source)}${d.p === null ? "" : `, p ${figure(d.p)}`}${d.u === null ? "" : `, q ${figure(d.q)}`}`;

  return { levelName, actor, usual, before, ownOf, stepOf, titleOf, summaryOf, nodeWords };
}
