// The metrics of a run from its columns, as hsd_viz/trace/metrics.py computes them.
import type { Tables } from "../lib/tables";

const NGRAM = 8;
const ratio = (numerator: number, denominator: number) => (denominator ? numerator / denominator : null);

/** The share of tokens that end an 8-gram already present earlier in the same output. */
export function repetitionShare(ids: number[]): number {
  const seen = new Set<string>();
  let repeated = 0;
  for (let end = NGRAM; end <= ids.length; end++) {
    const gram = ids.slice(end - NGRAM, end).join();
    if (seen.has(gram)) repeated++;
    seen.add(gram);
  }
  return ids.length ? repeated / ids.length : 0;
}

function count<T extends string>(values: T[]): Record<T, number> {
  const found = {} as Record<T, number>;
  for (const value of values) found[value] = (found[value] ?? 0) + 1;
  return found;
}

function counts(rounds: Tables["rounds"], level: number | null) {
  const of = (column: number[]) =>
    column.reduce((sum, n, k) => sum + (level === null || rounds.level[k] === level ? n : 0), 0);
  const [drafted, examined, accepted] = [of(rounds.drafted), of(rounds.examined), of(rounds.accepted)];
  const rates = {
    acceptance_rate: ratio(accepted, drafted),
    conditional_acceptance: ratio(accepted, examined),
  };
  return { drafted, examined, accepted, ...rates };
}

/** All metrics of a run; rates are null where the denominator is zero. Times in seconds. */
export function metrics({ tokens, drafts, rounds, calls }: Tables, wallNs: number, prefillNs: number) {
  const top = Math.max(0, ...rounds.level);
  const own = new Set(rounds.id.filter((_, k) => rounds.level[k] === top));
  const seconds = (wallNs - prefillNs) / 1e9;
  const finding = calls.duration_ns.filter((_, k) => calls.kind[k] === "lookup" || calls.kind[k] === "update");
  const forwards = calls.kind.filter((kind, k) => kind === "verify" && calls.level[k] === top).length;
  const { drafted, accepted, acceptance_rate, conditional_acceptance } = counts(rounds, top);
  return {
    tokens: tokens.token_id.length,
    rounds: own.size,
    drafted,
    accepted,
    acceptance_rate,
    conditional_acceptance,
    mean_acceptance_length: ratio(tokens.token_id.length, forwards),
    tokens_per_second: ratio(tokens.token_id.length, seconds),
    seconds,
    prefill_seconds: prefillNs / 1e9,
    draft_seconds_per_round: ratio(finding.reduce((sum, ns) => sum + ns, 0) / 1e9, own.size),
    target_forwards: forwards,
    repetition_share: repetitionShare(tokens.token_id),
    drafted_by_source: count(drafts.source.filter((_, k) => own.has(drafts.round[k]))),
    accepted_by_source: count(tokens.source.filter((_, k) => tokens.kind[k] === "accepted")),
    emitted_by_source: count(tokens.source),
    levels: levels(rounds),
    calls_by_level: callsByLevel(calls),
  };
}

function levels(rounds: Tables["rounds"]) {
  return [...new Set(rounds.level)]
    .sort((a, b) => a - b)
    .map((level) => {
      const accepted = rounds.accepted.filter((_, k) => rounds.level[k] === level);
      const histogram = Array.from(
        { length: Math.max(...accepted) + 1 },
        (_, n) => accepted.filter((a) => a === n).length,
      );
      return { level, rounds: accepted.length, ...counts(rounds, level), accepted_histogram: histogram };
    });
}

function callsByLevel(calls: Tables["calls"]) {
  const sums = new Map<
    string,
    { level: number; name: string; kind: string; calls: number; steps: number; fed: number; ns: number }
  >();
  calls.level.forEach((level, k) => {
    const [name, kind] = [calls.name[k], calls.kind[k]];
    const key = `${level} ${name} ${kind}`;
    const row = sums.get(key) ?? { level, name, kind, calls: 0, steps: 0, fed: 0, ns: 0 };
    sums.set(key, row);
    row.calls++;
    row.steps += calls.steps[k];
    row.fed += calls.fed[k];
    row.ns += calls.duration_ns[k];
  });
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return [...sums.values()]
    .sort((a, b) => a.level - b.level || order(a.name, b.name) || order(a.kind, b.kind))
    .map(({ ns, ...row }) => ({ ...row, seconds: ns / 1e9 }));
}
