// Texts of the scene of a round, from the run only. Pure.
import { isWhole } from "../lib/facts";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft, Round, Token } from "../lib/tables";
import { capital, FATES, figure, glyphs, listed, plural, WHY } from "../lib/words";
import { handedUp } from "./scene";

/** A verifier's own token; `row` is that of the target's text. */
export interface Own {
  text: string;
  source: string;
  row: Token | null;
}
/** Keys of nodes other than draft tokens: the text so far, and the verifier's own token. */
export const ROOT = -1;
export const OWN = 1e6;

/** A token's text; ∅ if empty. */
export const token = (text: string) => glyphs(text) || "∅";
export const isTarget = (r: Round) => r.parent === null;
const isDatabase = (name: string) => name === "db" || name === "hd";

export type Reading = ReturnType<typeof createReading>;

/** All functions read the current store. */
export function createReading(store: Store, palette: Pick<Palette, "phrase">) {
  const { levelName, actor } = store;
  const draftsOf = (id: number) => store.drafts.get(id) ?? [];
  /** What a round and those of the same parent proposed to it. */
  const given = (r: Round) => {
    const siblings = (store.children.get(r.parent ?? NaN) ?? []).flatMap(
      (id) => store.rounds.get(id) ?? [],
    );
    return {
      place: siblings.indexOf(r),
      ...handedUp(draftsOf(r.parent ?? NaN), siblings).get(r.id),
    };
  };

  /**
   * The target round shown without a cursor: the newest during a run, else the one `shown`; first
   * the one of the highest `score`.
   */
  function usual(shown: number | null, score: (id: number) => number) {
    const ids = [...store.order.keys()];
    if (!ids.length) return null;
    if ((store.meta.wall_ns ?? null) === null) return ids[ids.length - 1];
    if (shown !== null && store.order.has(shown)) return shown; // views do not jump
    const scores = new Map(ids.map((id) => [id, score(id)]));
    const worth = (id: number) => scores.get(id) ?? 0;
    return ids.reduce((best, id) => (worth(id) > worth(best) ? id : best));
  }
  /** The text before a target round's draft. */
  function before(r: Round): string {
    const { rounds, placeOf } = store.index();
    const first = rounds[placeOf.get(r.id) ?? -1]?.first ?? 0;
    return first > 0
      ? store.tokens[first - 1].text
      : (store.pieces[store.promptIds.at(-1) ?? NaN] ?? "");
  }
  /** The verifier's own token of a round, or null. */
  function ownOf(r: Round): Own | null {
    if (r.outcome === "stopped") return null;
    if (!isTarget(r)) {
      const { own } = given(r);
      return own ? { text: own.text, source: levelName(r.level), row: null } : null;
    }
    const t = store.tokens.findLast((one) => one.round === r.id && one.depth === 0);
    return t ? { text: t.text, source: t.source, row: t } : null;
  }
  /** The event of node `key` of a target round, or -1. */
  function stepOf(round: number | null, key: number) {
    const { events, rounds, placeOf } = store.index();
    const span = rounds[placeOf.get(round ?? NaN) ?? -1];
    const fits = (e: (typeof events)[number]) =>
      key === ROOT ? e.kind === "draft" : key === OWN ? e.kind === "token" : e.draft?.node === key;
    const at = span ? events.slice(span.begin, span.end).findIndex(fits) : -1;
    return at < 0 ? -1 : span.begin + at;
  }
  /** The title of a round; `top` is its target round. */
  function titleOf(r: Round, top: number) {
    const title = `Round ${store.order.get(top)} of ${store.order.size}`;
    return isTarget(r) ? title : `${title}, ${levelName(r.level)}’s round ${given(r).place + 1}`;
  }
  /**
   * The draft tokens that a round decided on. A rule that judges a draft as a whole decides on all
   * of them; `examined` counts to the first that was not accepted.
   */
  function judgedBy(r: Round) {
    return isWhole(r.rule)
      ? draftsOf(r.id).filter((d) => d.verdict !== "unreached").length
      : r.examined;
  }
  function summaryOf(r: Round) {
    const by = capital(actor(r));
    const drafts = draftsOf(r.id);
    if (!drafts.length) {
      const why = r.why_no_draft ?? "";
      const own = ownOf(r) ? ` ${by} generated its own token.` : "";
      return `No draft: ${WHY[why] ?? (why || "reason not recorded")}.${own}`;
    }
    const end = {
      correction: "a correction",
      bonus: "a bonus token",
      stopped: "the text ended",
      plain: "a plain token",
    };
    const from = listed([...new Set(drafts.map((d) => d.source))].map(palette.phrase));
    const unsure = r.draft_end === "confidence" ? " The draft stopped because it was unsure." : "";
    const judged = `${isWhole(r.rule) ? "judged" : "examined"} ${plural(judgedBy(r), "position")}`;
    const whole = isWhole(r.rule) ? " as a whole" : "";
    const fate = `accepted ${r.accepted || "none"}, then ${end[r.outcome]}`;
    const drafted = `${plural(drafts.length, "token")} drafted by ${from}.`;
    return `${drafted}${unsure} ${by} ${judged}${whole} and ${fate}.`;
  }
  /** A draft node for screen readers. */
  function nodeWords(d: Draft): string {
    const p = d.p === null ? "" : `, p ${figure(d.p)}`;
    const q = d.u === null ? "" : `, q ${figure(d.q)}`;
    const by = `drafted by ${palette.phrase(d.source)}`;
    return `position ${d.depth}, ${token(d.text)}: ${FATES[d.verdict]}, ${by}${p}${q}`;
  }
  /** What the drafters of the lowest level proposed. */
  const sourceName = () =>
    isDatabase(store.levels[0] ?? "") ? "databases" : (store.levels[0] ?? "");

  return { usual, before, ownOf, stepOf, titleOf, judgedBy, summaryOf, nodeWords, sourceName };
}
