// Rounds by what happened in them, and their sums. Pure.

import type { Store } from "../lib/run";
import type { Draft, Round } from "../lib/tables";

/** Conditions on a target round; "" and 0: none. A draft token has to meet the last three together. */
export interface Filter {
  outcome: string;
  source: string;
  verdict: string;
  /** Least probability of the draft token at its verifier. */
  p: number;
}
export const EVERY: Filter = { outcome: "", source: "", verdict: "", p: 0 };
type Run = Pick<Store, "order" | "rounds" | "drafts" | "tokens">;

/** The ids of the target rounds that meet a filter; null: it has no condition. */
export function matching(run: Run, filter: Filter): ReadonlySet<number> | null {
  const { outcome, source, verdict, p } = filter;
  const drafted = Boolean(source || verdict || p > 0);
  if (!outcome && !drafted) return null;
  const meets = (d: Draft) =>
    (!source || d.source === source) && (!verdict || d.verdict === verdict) && (p <= 0 || (d.p !== null && d.p >= p));
  const found = [...run.order.keys()].filter((id) => {
    const round = run.rounds.get(id) as Round;
    return (!outcome || round.outcome === outcome) && (!drafted || (run.drafts.get(id) || []).some(meets));
  });
  return new Set(found);
}

export interface Sums {
  rounds: number;
  tokens: number;
  drafted: number;
  accepted: number;
  ns: number;
  sources: Map<string, number>;
}
/** The sums of target rounds; `ids` null: of all. */
export function sumsOf(run: Run, ids: ReadonlySet<number> | null): Sums {
  const sums: Sums = { rounds: 0, tokens: 0, drafted: 0, accepted: 0, ns: 0, sources: new Map() };
  for (const id of run.order.keys()) {
    if (ids && !ids.has(id)) continue;
    const round = run.rounds.get(id) as Round;
    sums.rounds += 1;
    sums.drafted += round.drafted;
    sums.accepted += round.accepted;
    sums.ns += round.duration_ns;
  }
  for (const t of run.tokens) {
    if (ids && !ids.has(t.round)) continue;
    sums.tokens += 1;
    sums.sources.set(t.source, (sums.sources.get(t.source) ?? 0) + 1);
  }
  return sums;
}

/** The rounds between two places in the order of the run, both included. */
export const between = (order: Run["order"], a: number, b: number) =>
  [...order.keys()].slice(Math.min(a, b), Math.max(a, b) + 1);
