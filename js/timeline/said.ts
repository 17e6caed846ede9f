// Texts of the timeline for calls, gaps and rounds. Pure: `tests/js` runs it in node. Loaded after linked_run.js and linked.js.
import { duration, plural } from "../lib/linked";

const ACTS = {
  prefill: "prefill",
  draft: "drafts",
  verify: "verifies",
  lookup: "looks up a draft",
  update: "adds accepted tokens",
};

/** Labels of a call's bar, longest first. */
export const callWords = (c) => [`${c.kind} ${plural(c.fed, "token")}`, `${c.kind} ${c.fed}`, String(c.fed)];
export const isRound = (s) => Boolean(s) && s.outcome !== undefined;
/** The round (of any level) of a call or span; null before the first. */
export const servedBy = (s) => (!s ? null : isRound(s) ? s.id : s.kind && s.round >= 0 ? s.round : null);

/** All functions read the current store. */
export function createTelling(store) {
  function roundWords(id: number) {
    const r = store.rounds.get(id);
    if (!r) return `round ${id}`;
    const n = `round ${store.order.get(store.topRound(id))}`;
    return r.parent === null ? n : `within ${n}, for ${store.levels[r.level] ?? `level ${r.level}`}`;
  }
  return {
    /** The target round of a span, or null. */
    roundOf(s) {
      const id = servedBy(s);
      return id === null ? null : store.topRound(id);
    },
    callSentence(c) {
      const cached = c.cached ? `, ${c.cached} in the cache` : "";
      const steps = c.steps > 1 ? `, ${plural(c.steps, "forward pass")} in one launch` : "";
      const where = c.round < 0 ? "before the first round" : roundWords(c.round);
      const fed = c.kind === "lookup" ? " found" : c.kind === "update" ? "" : " fed";
      return `${c.name} ${ACTS[c.kind] || c.kind}: ${plural(c.fed, "token")}${fed}${cached}${steps}; ${duration(c.ns)}, from ${duration(c.start)}; ${where}.`;
    },
    gapSentence: (gap) => `Idle for ${duration(gap.ns)}, from ${duration(gap.start)}.`,
    roundSentence: (r) =>
      `Round ${store.order.get(r.id)}: ${duration(r.ns)}, from ${duration(r.start)}; ${r.drafted ? `${r.drafted} drafted, ${r.accepted} accepted` : "no draft"}, ${r.outcome}.`,
  };
}
