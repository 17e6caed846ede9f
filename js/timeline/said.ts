// Texts of the timeline for calls, gaps and rounds. Pure.
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Call, Round } from "../lib/tables";
import { duration, plural, WHY } from "../lib/words";
import { clock, type Supply, type TimeSpan } from "./spans";

/** What a point of the chart may show. */
export type Shown = Call | Round | TimeSpan;

const ACTS: Record<string, string> = {
  prefill: "prefill",
  draft: "drafts",
  verify: "verifies",
  lookup: "looks up a draft",
  update: "adds accepted tokens",
};

/** Labels of a call's bar, longest first. */
export const callWords = (c: Call) => [
  `${c.kind} ${plural(c.fed, "token")}`,
  `${c.kind} ${c.fed}`,
  String(c.fed),
];
export const isRound = (s: Shown | null): s is Round => s !== null && "outcome" in s;
export const isCall = (s: Shown | null): s is Call => s !== null && "kind" in s;
/** The round (of any level) of a call or span; null before the first. */
export const servedBy = (s: Shown | null) =>
  isRound(s) ? s.id : isCall(s) && s.round >= 0 ? s.round : null;

/** All functions read the current store. */
export function createTelling(store: Store, palette: Pick<Palette, "words">) {
  function roundWords(id: number) {
    const r = store.rounds.get(id);
    if (!r) return `round ${id}`;
    const n = `round ${store.order.get(store.topRound(id) ?? NaN)}`;
    return r.parent === null ? n : `within ${n}, for ${store.levelName(r.level)}`;
  }
  /** What the databases drafted in a round. */
  function drafted({ id, why_no_draft: why }: Round) {
    const supplies = told.supplies.filter(({ drafted: n }) => n.has(id));
    const words = supplies.map(
      ({ source, drafted: n, accepted }) =>
        `${palette.words(source)} drafted ${n.get(id)}, ${accepted.get(id) ?? 0} accepted`,
    );
    return why ? ` No draft: ${WHY[why] ?? why}.` : words.length ? ` ${words.join("; ")}.` : "";
  }
  const spanWords = ({ start_ns, duration_ns }: TimeSpan) =>
    `${duration(duration_ns)}, from ${clock(start_ns - told.zero)}`;
  const told = {
    /** Set by the strip. */
    supplies: [] as Supply[],
    /** When prefill ended, set by the strip. */
    zero: 0,
    /** The target round of a span, or null. */
    roundOf(s: Shown | null) {
      const id = servedBy(s);
      return id === null ? null : store.topRound(id);
    },
    callSentence(c: Call) {
      const cached = c.cached ? `, ${c.cached} in the cache` : "";
      const steps = c.steps > 1 ? `, ${plural(c.steps, "forward pass")} in one launch` : "";
      const where = c.round < 0 ? "before the first round" : roundWords(c.round);
      const fed = c.kind === "lookup" ? " found" : c.kind === "update" ? "" : " fed";
      const act = `${c.name} ${ACTS[c.kind] || c.kind}`;
      const tokens = `${plural(c.fed, "token")}${fed}${cached}${steps}`;
      return `${act}: ${tokens}; ${spanWords(c)}; ${where}.`;
    },
    gapSentence: (gap: TimeSpan) => `Idle for ${spanWords(gap)}.`,
    roundSentence(r: Round) {
      const draft = r.drafted ? `${r.drafted} drafted, ${r.accepted} accepted` : "no draft";
      const when = `Round ${store.order.get(r.id)}: ${spanWords(r)}`;
      return `${when}; ${draft}, ${r.outcome}.${drafted(r)}`;
    },
  };
  return told;
}
