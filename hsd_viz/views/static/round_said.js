// @ts-check
// What the round inspector says of a round, by the run alone: who acts in it, what stood before, whose token ends it, in words. Pure:
// nothing here touches the document; `tests/js` runs it in node. linked_run.js, linked.js and round.js stand before it.

/** Keys of the tree's nodes that are no draft tokens: the text so far, and the verifier's own token. */
const ROOT = -1;
const OWN = 1e6;

/** Verdicts in words. */
const FATES = {
  accepted: "accepted",
  rejected: "rejected",
  unreached: "not looked at",
  cut: "right, then cut: the text ended before it",
};

/** Names are written as they are, also where a sentence begins. */
const capital = (/** @type {string} */ words) => words.replace(/^the /, "The ");
/** A token's text on one line; an empty one has a sign, too. */
const token = (/** @type {string} */ text) => glyphs(text) || "∅";
const isTarget = (/** @type {any} */ r) => r.parent === null;

/** Everything here reads the store as it is when it is asked. */
function createReading({ store, palette }) {
  const levelName = (/** @type {number} */ l) => store.levels[l] ?? `level ${l}`;
  const actor = (r) => (isTarget(r) ? "the target" : levelName(r.level));
  /** The rounds that served the same round of the level above, in order. */
  const siblings = (r) => (store.children.get(r.parent) || []).map((id) => store.rounds.get(id));

  /** The target round to show where the cursor is nowhere: while a run goes on its newest, else the one `shown`, at first one with a draft. */
  function usual(/** @type {number | null} */ shown) {
    const ids = [...store.order.keys()];
    if (!ids.length) return null;
    if ((store.meta.wall_ns ?? null) === null) return ids[ids.length - 1];
    if (shown !== null && store.order.has(shown)) return shown; // no view jumps by itself
    return ids.find((id) => store.rounds.get(id).drafted > 0) ?? ids[0];
  }

  /** The text just before a round's draft. */
  function before(r) {
    if (isTarget(r)) {
      const { rounds, placeOf } = store.index();
      const first = rounds[placeOf.get(r.id)]?.first ?? 0;
      if (first > 0) return store.tokens[first - 1].text;
      const last = store.promptIds[store.promptIds.length - 1];
      return store.pieces[last] ?? "";
    }
    const above = store.rounds.get(r.parent);
    const drafts = store.drafts.get(above.id) || [];
    const given = handedUp(drafts, siblings(r)).get(r.id);
    return given && given.first > 0 ? drafts[given.first - 1].text : before(above);
  }

  /** The verifier's own token of a round: {text, id, source, row of the text where it is the target's}, or null where it added none. */
  function ownOf(r) {
    if (r.outcome === "stopped") return null;
    if (isTarget(r)) {
      const t = store.tokens.findLast((t) => t.round === r.id && t.depth === 0);
      return t ? { text: t.text, id: t.id, source: t.source, row: t } : null;
    }
    const given = handedUp(store.drafts.get(r.parent) || [], siblings(r)).get(r.id);
    return given && given.own ? { text: given.own.text, id: given.own.id, source: levelName(r.level), row: null } : null;
  }

  /** The event of node `key` of a target round, -1 where it has none. */
  function stepOf(/** @type {number | null} */ round, /** @type {number} */ key) {
    const { events, rounds, placeOf } = store.index();
    const span = rounds[placeOf.get(round)];
    if (!span) return -1;
    for (let s = span.begin; s < span.end; s++) {
      const e = events[s];
      if (key === ROOT ? e.kind === "draft" : key === OWN ? e.kind === "token" : e.draft?.node === key) return s;
    }
    return -1;
  }

  /** Which round it is, `top` being the target's round that it is or served. */
  function titleOf(r, /** @type {number} */ top) {
    const n = store.order.get(top);
    return isTarget(r) ? `Round ${n} of ${store.order.size}` : `Round ${n} of ${store.order.size}, below: ${levelName(r.level)}’s round ${siblings(r).indexOf(r) + 1}`;
  }
  /** Who drafts for a round. */
  function belowWords(r) {
    const name = store.levels[r.level - 1];
    return name === undefined ? "nobody" : name === "db" || name === "hd" ? "the databases" : palette.phrase(name);
  }
  /** What was drafted and what became of it. */
  function summaryOf(r, /** @type {any[]} */ drafts, own) {
    const by = actor(r);
    const cap = capital(by);
    if (!drafts.length) return `${whyNothing(r.why, by, belowWords(r))}${own ? ` ${cap} wrote its token by itself.` : ""}`;
    const sources = [...new Set(drafts.map((d) => d.source))].map(palette.phrase);
    const from = sources.length > 1 ? `${sources.slice(0, -1).join(", ")} and ${sources[sources.length - 1]}` : sources[0];
    const end = { correction: own ? "then it put its own token where the draft was wrong" : "and corrected the next", bonus: "all that it walked was right, so one more of its own came free", stopped: "and the text ended there", plain: "" }[r.outcome];
    return `${plural(drafts.length, "token")} drafted by ${from}. ${cap} looked at ${plural(r.examined, "place")} and accepted ${r.accepted || "none"}; ${end}.`;
  }
  /** A node of the draft, for those who hear the page. */
  const nodeWords = (d) => `place ${d.depth}, ${token(d.text)}: ${FATES[d.verdict] || d.verdict}, drafted by ${palette.phrase(d.source)}${d.p === null ? "" : `, p ${figure(d.p)}`}${d.u === null ? "" : `, q ${figure(d.q)}`}`;

  return { levelName, actor, usual, before, ownOf, stepOf, titleOf, summaryOf, nodeWords };
}

export { OWN, ROOT, capital, createReading, token };
