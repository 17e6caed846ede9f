// Metrics of a run, as hsd_viz/trace/metrics.py defines them; a test compares the two on every
// recording. Pure functions.
import type { Store } from "./run";
import type { Call, Round } from "./tables";

export type Metrics = ReturnType<typeof metricsOf>;
type CallSum = Pick<Call, "level" | "name" | "kind" | "steps" | "fed"> & {
  calls: number;
  seconds: number;
};
export type Run = Pick<Store, "tokens" | "rounds" | "order" | "drafts" | "calls" | "meta">;

const NGRAM = 8;
export const ratio = (a: number, b: number) => (b ? a / b : null);

/**
 * Return the share of tokens that end an 8-gram which occurs earlier in the same output; 0 for an
 * empty output.
 */
export function repetitionShare(ids: readonly number[]): number {
  const grams = new Set<string>();
  let repeated = 0;
  for (let end = NGRAM; end <= ids.length; end++) {
    const gram = ids.slice(end - NGRAM, end).join();
    if (grams.has(gram)) repeated += 1;
    grams.add(gram);
  }
  return ids.length ? repeated / ids.length : 0;
}

/** Share of repeated tokens from which a text counts as repetitive, as in bench reports. */
export const REPETITIVE = 0.2;
export const repeatsItself = (run: Pick<Run, "tokens">) =>
  repetitionShare(run.tokens.map((t) => t.token_id)) >= REPETITIVE;

export function countsBy<T>(items: Iterable<T>, key: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[key(item)] = (counts[key(item)] ?? 0) + 1;
  return counts;
}

export const bySource = (items: Iterable<{ source: string }>) =>
  countsBy(items, (item) => item.source);

/** Sum the calls of a run by level, name and kind. */
export function callSums(calls: readonly Call[]) {
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
  return [...sums.values()].sort(
    (a, b) => a.level - b.level || order(a.name, b.name) || order(a.kind, b.kind),
  );
}

function countsOf(rounds: readonly Round[]) {
  const sum = (name: "drafted" | "examined" | "accepted") =>
    rounds.reduce((total, r) => total + r[name], 0);
  const drafted = sum("drafted");
  const examined = sum("examined");
  const accepted = sum("accepted");
  const rates = {
    acceptance_rate: ratio(accepted, drafted),
    conditional_acceptance: ratio(accepted, examined),
  };
  return { drafted, examined, accepted, ...rates };
}
function levelsOf(rounds: readonly Round[]) {
  return [...new Set(rounds.map((r) => r.level))]
    .sort((a, b) => a - b)
    .map((level) => {
      const levelRounds = rounds.filter((r) => r.level === level);
      const longest = Math.max(...levelRounds.map((r) => r.accepted));
      const accepted_histogram = Array.from(
        { length: longest + 1 },
        (_, n) => levelRounds.filter((r) => r.accepted === n).length,
      );
      return { level, rounds: levelRounds.length, ...countsOf(levelRounds), accepted_histogram };
    });
}

/**
 * Return all metrics of a run; for a run in progress, up to its last round. Rates are null if the
 * denominator is zero.
 */
export function metricsOf(run: Run) {
  const allRounds = [...run.rounds.values()];
  const target = Math.max(0, ...allRounds.map((r) => r.level));
  const rounds = allRounds.filter((r) => r.level === target);
  const { drafted, accepted, acceptance_rate, conditional_acceptance } = countsOf(rounds);
  const spent = (fits: (c: Call) => boolean) =>
    run.calls.reduce((ns, c) => ns + (fits(c) ? c.duration_ns : 0), 0);
  const finding = spent((c) => c.kind === "lookup" || c.kind === "update") / 1e9;
  const forwards = run.calls.filter((c) => c.kind === "verify" && c.level === target).length;
  const prefill = run.meta.prefill_ns ?? spent((c) => c.kind === "prefill");
  const last = rounds.at(-1);
  const sofar = last ? last.start_ns + last.duration_ns - rounds[0].start_ns : 0;
  const seconds = (typeof run.meta.wall_ns === "number" ? run.meta.wall_ns - prefill : sofar) / 1e9;
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
    drafted_by_source: bySource(rounds.flatMap((r) => run.drafts.get(r.id) ?? [])),
    accepted_by_source: bySource(run.tokens.filter((t) => t.kind === "accepted")),
    emitted_by_source: bySource(run.tokens),
    levels: levelsOf(allRounds),
    calls_by_level: callSums(run.calls),
  };
}

/** Relative noise of timings on an idle machine, as in bench/report.py. */
const NOISE = 0.05;
/**
 * Return whether a speed-up over plain decoding exceeds the tokens per forward pass, so that other
 * load must have disturbed its timings.
 */
export const impossible = (gain: number, length: number | null) =>
  length !== null && gain > length * (1 + NOISE);

/**
 * Return the speed-up over the plain runs measured with a run: the median over pairs, with the
 * smallest and the largest; `own` is that of the pair whose run is shown.
 */
export function gainOf(run: Run, m = metricsOf(run)) {
  const plain = run.meta.plain;
  if (!plain?.tokens_per_second || !m.tokens_per_second) return null;
  const ownGain = m.tokens_per_second / plain.tokens_per_second;
  const pairs = [...(plain.speedups?.length ? plain.speedups : [ownGain])];
  pairs.sort((a, b) => a - b);
  const middle = pairs.length >> 1;
  const value = pairs.length % 2 ? pairs[middle] : (pairs[middle - 1] + pairs[middle]) / 2;
  const doubt = impossible(value, m.mean_acceptance_length);
  return {
    value,
    own: ownGain,
    low: pairs[0],
    high: pairs[pairs.length - 1],
    pairs: pairs.length,
    impossible: doubt,
  };
}
