// The metrics of a run, as hsd_viz/trace/metrics.py defines them; a test compares the two on every recording. Pure.
import type { Store } from "./run";
import type { Call, Round } from "./tables";

export interface CallSum {
  level: number;
  name: string;
  kind: Call["kind"];
  calls: number;
  steps: number;
  fed: number;
  seconds: number;
}
export interface Metrics {
  tokens: number;
  rounds: number;
  drafted: number;
  accepted: number;
  acceptance_rate: number | null;
  conditional_acceptance: number | null;
  mean_acceptance_length: number | null;
  tokens_per_second: number | null;
  seconds: number;
  prefill_seconds: number;
  draft_seconds_per_round: number | null;
  target_forwards: number;
  repetition_share: number;
  drafted_by_source: Record<string, number>;
  accepted_by_source: Record<string, number>;
  emitted_by_source: Record<string, number>;
  levels: LevelSum[];
  calls_by_level: CallSum[];
}
/** The rounds of a level. */
export interface LevelSum extends Counts {
  level: number;
  rounds: number;
  accepted_histogram: number[];
}
interface Counts {
  drafted: number;
  examined: number;
  accepted: number;
  acceptance_rate: number | null;
  conditional_acceptance: number | null;
}
export type Run = Pick<Store, "tokens" | "rounds" | "order" | "drafts" | "calls" | "meta">;

const NGRAM = 8;
export const ratio = (a: number, b: number) => (b ? a / b : null);

/** The share of tokens that end an 8-gram already present earlier in the same output; 0 if it is empty. */
export function repetitionShare(ids: readonly number[]): number {
  const seen = new Set<string>();
  let repeated = 0;
  for (let end = NGRAM; end <= ids.length; end++) {
    const gram = ids.slice(end - NGRAM, end).join();
    if (seen.has(gram)) repeated += 1;
    seen.add(gram);
  }
  return ids.length ? repeated / ids.length : 0;
}

export function countsBy<T>(items: Iterable<T>, key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

/** The calls of a run summed by level, name and kind. */
export function callSums(calls: readonly Call[]): CallSum[] {
  const sums = new Map<string, CallSum>();
  for (const { level, name, kind, steps, fed, duration_ns } of calls) {
    const key = `${level}\n${name}\n${kind}`;
    const row = sums.get(key) ?? { level, name, kind, calls: 0, steps: 0, fed: 0, seconds: 0 };
    row.calls += 1;
    row.steps += steps;
    row.fed += fed;
    row.seconds += duration_ns / 1e9;
    sums.set(key, row);
  }
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...sums.values()].sort((a, b) => a.level - b.level || order(a.name, b.name) || order(a.kind, b.kind));
}

function countsOf(rounds: readonly Round[]): Counts {
  const sum = (name: "drafted" | "examined" | "accepted") => rounds.reduce((total, r) => total + r[name], 0);
  const [drafted, examined, accepted] = [sum("drafted"), sum("examined"), sum("accepted")];
  const rates = { acceptance_rate: ratio(accepted, drafted), conditional_acceptance: ratio(accepted, examined) };
  return { drafted, examined, accepted, ...rates };
}
function levelsOf(rounds: readonly Round[]): LevelSum[] {
  return [...new Set(rounds.map((r) => r.level))]
    .sort((a, b) => a - b)
    .map((level) => {
      const own = rounds.filter((r) => r.level === level);
      const most = Math.max(...own.map((r) => r.accepted));
      const accepted_histogram = Array.from({ length: most + 1 }, (_, n) => own.filter((r) => r.accepted === n).length);
      return { level, rounds: own.length, ...countsOf(own), accepted_histogram };
    });
}

/** All metrics of a run; of one in progress up to its last round. Rates are null where the denominator is zero. */
export function metricsOf(run: Run): Metrics {
  const all = [...run.rounds.values()];
  const target = Math.max(0, ...all.map((r) => r.level));
  const rounds = all.filter((r) => r.level === target);
  const { drafted, accepted, acceptance_rate, conditional_acceptance } = countsOf(rounds);
  const prefill = run.meta.prefill_ns ?? run.calls.reduce((n, c) => n + (c.kind === "prefill" ? c.duration_ns : 0), 0);
  const last = rounds.at(-1);
  const seconds =
    run.meta.wall_ns !== null && run.meta.wall_ns !== undefined
      ? (run.meta.wall_ns - prefill) / 1e9
      : last
        ? (last.start_ns + last.duration_ns - rounds[0].start_ns) / 1e9
        : 0;
  let finding = 0;
  let forwards = 0;
  for (const c of run.calls) {
    if (c.kind === "lookup" || c.kind === "update") finding += c.duration_ns / 1e9;
    if (c.kind === "verify" && c.level === target) forwards += 1;
  }
  return {
    tokens: run.tokens.length,
    rounds: rounds.length,
    drafted,
    accepted,
    acceptance_rate,
    conditional_acceptance,
    mean_acceptance_length: ratio(run.tokens.length, forwards),
    tokens_per_second: ratio(run.tokens.length, seconds),
    seconds,
    prefill_seconds: prefill / 1e9,
    draft_seconds_per_round: ratio(finding, rounds.length),
    target_forwards: forwards,
    repetition_share: repetitionShare(run.tokens.map((t) => t.token_id)),
    drafted_by_source: countsBy(
      rounds.flatMap((r) => run.drafts.get(r.id) ?? []),
      (d) => d.source,
    ),
    accepted_by_source: countsBy(
      run.tokens.filter((t) => t.kind === "accepted"),
      (t) => t.source,
    ),
    emitted_by_source: countsBy(run.tokens, (t) => t.source),
    levels: levelsOf(all),
    calls_by_level: callSums(run.calls),
  };
}

/** Timings of an idle machine differ by a few percent, as in bench/report.py. */
const NOISE = 0.05;
/** Whether a speed-up over plain decoding exceeds the tokens per forward pass: its timings were disturbed. */
export const impossible = (gain: number, length: number | null) => length !== null && gain > length * (1 + NOISE);

export interface Gain {
  value: number;
  low: number;
  high: number;
  pairs: number;
  impossible: boolean;
}
/** The speed-up over the plain runs measured with a run: the median over pairs, with the least and the greatest. */
export function gainOf(run: Run, m = metricsOf(run)): Gain | null {
  const plain = run.meta.plain;
  if (!plain?.tokens_per_second || !m.tokens_per_second) return null;
  const pairs = [...(plain.speedups?.length ? plain.speedups : [m.tokens_per_second / plain.tokens_per_second])];
  pairs.sort((a, b) => a - b);
  const middle = pairs.length >> 1;
  const value = pairs.length % 2 ? pairs[middle] : (pairs[middle - 1] + pairs[middle]) / 2;
  const doubt = impossible(value, m.mean_acceptance_length);
  return { value, low: pairs[0], high: pairs[pairs.length - 1], pairs: pairs.length, impossible: doubt };
}
