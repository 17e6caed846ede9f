// Texts of the timeline for calls, gaps and rounds. Pure functions.
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Call, Round } from "../lib/tables";
import { duration, plural, WHY } from "../lib/words";
import { clock, type Supply, type TimeSpan } from "./spans";

/** A span that a point of the chart may belong to. */
export type SelectableSpan = Call | Round | TimeSpan;

const CALL_KINDS: Record<string, string> = {
  prefill: "prefill",
  draft: "drafts",
  verify: "verifies",
  lookup: "looks up a draft",
  update: "adds accepted tokens",
};

/** Return possible labels of a call's bar, longest first. */
export const callText = (c: Call) => [
  `${c.kind} ${plural(c.fed, "token")}`,
  `${c.kind} ${c.fed}`,
  String(c.fed),
];
export const isRound = (s: SelectableSpan | null): s is Round => s !== null && "outcome" in s;
export const isCall = (s: SelectableSpan | null): s is Call => s !== null && "kind" in s;
/** Return the id of the round (of any level) of a call or span; null before the first. */
export const servedBy = (s: SelectableSpan | null) =>
  isRound(s) ? s.id : isCall(s) && s.round >= 0 ? s.round : null;

/** Return functions for the texts of a run; they read the current state of the store. */
export function createTelling(store: Store, palette: Pick<Palette, "words">) {
  function roundText(id: number) {
    const r = store.rounds.get(id);
    if (!r) return `round ${id}`;
    const n = `round ${store.order.get(store.topRound(id) ?? NaN)}`;
    return r.parent === null ? n : `within ${n}, for ${store.levelName(r.level)}`;
  }
  /** Describe the draft tokens of the databases in a round. */
  function drafted({ id, why_no_draft: why }: Round) {
    const supplies = texts.supplies.filter(({ drafted: n }) => n.has(id));
    const words = supplies.map(
      ({ source, drafted: n, accepted }) =>
        `${palette.words(source)} drafted ${n.get(id)}, ${accepted.get(id) ?? 0} accepted`,
    );
    return why ? ` No draft: ${WHY[why] ?? why}.` : words.length ? ` ${words.join("; ")}.` : "";
  }
  const spanText = ({ start_ns, duration_ns }: TimeSpan) =>
    `${duration(duration_ns)}, from ${clock(start_ns - texts.zero)}`;
  const texts = {
    /** Set by the view. */
    supplies: [] as Supply[],
    /** End of prefill in nanoseconds, set by the view. */
    zero: 0,
    /** Return the id of the target round of a span, or null. */
    roundOf(s: SelectableSpan | null) {
      const id = servedBy(s);
      return id === null ? null : store.topRound(id);
    },
    callSentence(c: Call) {
      const cached = c.cached ? `, ${c.cached} in the cache` : "";
      const steps = c.steps > 1 ? `, ${plural(c.steps, "forward pass")} in one launch` : "";
      const where = c.round < 0 ? "before the first round" : roundText(c.round);
      const fed = c.kind === "lookup" ? " found" : c.kind === "update" ? "" : " fed";
      const act = `${c.name} ${CALL_KINDS[c.kind] || c.kind}`;
      const tokens = `${plural(c.fed, "token")}${fed}${cached}${steps}`;
      return `${act}: ${tokens}; ${spanText(c)}; ${where}.`;
    },
    gapSentence: (gap: TimeSpan) => `Idle for ${spanText(gap)}.`,
    roundSentence(r: Round) {
      const draft = r.drafted ? `${r.drafted} drafted, ${r.accepted} accepted` : "no draft";
      const when = `Round ${store.order.get(r.id)}: ${spanText(r)}`;
      return `${when}; ${draft}, ${r.outcome}.${drafted(r)}`;
    },
  };
  return texts;
}
