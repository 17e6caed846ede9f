// Compared runs by output position and by time. Times are ns from the end of prefill. Pure.
import type { Store } from "../lib/run";
import type { Round, Token } from "../lib/tables";
import { duration, glyphs, plural } from "../lib/words";

/** A run with its rounds as the race needs them; `round` of a token indexes `rounds`. */
export interface Run extends RunFacts {
  prefill_ns: number;
  tokens: RunToken[];
  rounds: RunRound[];
  end: number;
}
export type RunToken = Omit<Token, "round"> & { round: number };
export interface RunRound {
  first: number;
  count: number;
  drafted: number;
  deepest: number;
  accepted: number;
  /** Target forward passes so far. */
  forwards: number;
  start: number;
  end: number;
  /** Forward passes of the models below. */
  below: Record<string, number>;
}
export interface RunFacts {
  letter: string;
  title: string;
  stack: string;
  tokens_per_second: number | null;
}
export const SPEEDS = [
  ["1", "real time"],
  ["0.1", "1/10 speed"],
  ["0.01", "1/100 speed"],
];

/** The rounds of a run on the race's clock: ns from the end of prefill. */
export function readRun(facts: RunFacts, store: Store): Run {
  const prefill = store.meta.prefill_ns ?? 0;
  const spans = store.index().rounds;
  const level = Math.max(...spans.map(({ id }) => store.rounds.get(id)?.level ?? 0));
  const counts = spans.map(() => ({ forwards: 0, below: {} as Record<string, number> }));
  const { placeOf } = store.index();
  for (const call of store.calls) {
    const round = counts[placeOf.get(store.topRound(call.round ?? NaN) ?? NaN) ?? -1];
    if (!round || (call.kind !== "verify" && call.kind !== "draft")) continue;
    if (call.level === level) round.forwards += 1;
    else round.below[call.name] = (round.below[call.name] ?? 0) + call.steps;
  }
  let forwards = 0;
  const rounds = spans.map(({ id, first, count }, k) => {
    const round = store.rounds.get(id) as Round;
    const deepest = (store.drafts.get(id) || []).reduce((most, d) => Math.max(most, d.depth), 0);
    forwards += counts[k].forwards;
    const start = round.start_ns - prefill;
    const { drafted, accepted } = round;
    const times = { start, end: start + round.duration_ns };
    return { first, count, drafted, deepest, accepted, forwards, ...times, below: counts[k].below };
  });
  const tokens = store.tokens.map((t) => ({ ...t, round: placeOf.get(t.round) ?? 0 }));
  return { ...facts, prefill_ns: prefill, tokens, rounds, end: rounds.at(-1)?.end ?? 0 };
}

/** A run's cost up to output position `k`: its round, `forwards` and time; null if it has no such token. */
export function spentAt(run: Run, k: number) {
  const token = run.tokens[k];
  if (!token) return null;
  const round = run.rounds[token.round];
  return { round, forwards: round.forwards, ns: round.end };
}

/** Number of finished rounds at a time. */
export function roundsAt(run: Run, ns: number) {
  let low = 0;
  let high = run.rounds.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (run.rounds[mid].end <= ns) low = mid + 1;
    else high = mid;
  }
  return low;
}

/**
 * A run at a time: tokens `shown`, target `forwards` so far, whether it is `done`; for the round in progress `reach` (maximum tokens:
 * draft depth plus one) and `part` (elapsed fraction), both 0 between rounds.
 */
export function runAt(run: Run, ns: number) {
  const over = roundsAt(run, ns);
  const last = run.rounds[over - 1];
  const next = run.rounds[over];
  const flying = next && next.start <= ns;
  return {
    shown: last ? last.first + last.count : 0,
    forwards: last ? last.forwards : 0,
    done: over === run.rounds.length,
    reach: flying ? next.deepest + 1 : 0,
    part: flying ? (ns - next.start) / Math.max(1, next.end - next.start) : 0,
  };
}

export const raceEnd = (runs: Pick<Run, "end">[]) => Math.max(...runs.map((r) => r.end));

/** The speed at which the race takes closest to eight seconds. */
export function fitSpeed(ns: number) {
  const off = (s: string) => Math.abs(Math.log(ns / 1e9 / Number(s) / 8));
  return SPEEDS.map(([s]) => s).reduce((a, b) => (off(b) < off(a) ? b : a));
}

/** The state of the race at a time, as text. */
export function standing(runs: Run[], ns: number) {
  const at = runs.map((r) => ({ letter: r.letter, end: r.end, all: r.tokens.length, ...runAt(r, ns) }));
  const finished = at.filter((r) => r.done).sort((a, b) => a.end - b.end);
  const running = at.filter((r) => !r.done);
  const list = (s: string[]) => (s.length > 1 ? `${s.slice(0, -1).join(", ")} and ${s[s.length - 1]}` : s[0]);
  if (!running.length) {
    const first = finished[0];
    const level = finished.filter((r) => r.end === first.end);
    if (level.length > 1)
      return `${list(level.map((r) => r.letter))} finished at the same time, after ${duration(first.end)}.`;
    // Runs of different length have different finishes: show their tokens.
    const wrote = (r: (typeof at)[number]) =>
      at.every((o) => o.all === r.all) ? "" : `, with ${plural(r.all, "token")}`;
    const later = finished.slice(1).map((r) => `${r.letter} ${duration(r.end - first.end)} later${wrote(r)}`);
    return `${first.letter} finished first, after ${duration(first.end)}${wrote(first)}; ${list(later)}.`;
  }
  if (finished.length) {
    const rest = running.map((r) => `${r.letter} has ${r.shown} of ${r.all} tokens`);
    const letters = finished.map((r) => r.letter);
    return `${list(letters)} ${letters.length > 1 ? "have" : "has"} finished; ${list(rest)}.`;
  }
  const most = Math.max(...at.map((r) => r.shown));
  const ahead = at.filter((r) => r.shown === most);
  if (ahead.length === at.length) return most ? `All have ${plural(most, "token")}.` : "No tokens yet.";
  const behind = at.filter((r) => r.shown < most).map((r) => `${r.letter} by ${plural(most - r.shown, "token")}`);
  return `${list(ahead.map((r) => r.letter))} ${ahead.length > 1 ? "are" : "is"} ahead of ${list(behind)}.`;
}

/** The output position where the round `by` rounds after that of `k` begins; `k` if there is none. */
export function roundStep(run: Run, k: number, by: number) {
  const here = run.tokens[Math.min(k, run.tokens.length - 1)];
  if (!here) return k;
  const place = here.round;
  if (by < 0 && k > run.rounds[place].first) return run.rounds[place].first;
  // A round cut to zero tokens is skipped.
  let to = place + by;
  while (run.rounds[to] && run.rounds[to].count === 0) to += by;
  return run.rounds[to] ? run.rounds[to].first : k;
}

/** The columns that begin a line, from their vertical positions. */
export function lineStarts(tops: number[]) {
  return tops.flatMap((top, i) => (i === 0 || top > tops[i - 1] + 1 ? [i] : []));
}

const SMALL = "⁰¹²³⁴⁵⁶⁷⁸⁹";
/** A token on one line: glyphs for line breaks and blanks, counts for many blanks. */
export const inColumn = (text: string) =>
  glyphs(text).replace(/␣{3,}/g, (s) => `␣${[...String(s.length)].map((d) => SMALL[Number(d)]).join("")}`);

/** The difference of one position to the first run, as text: forward passes and time. */
export function gapWords(
  own: { forwards: number; ns: number },
  first: { forwards: number; ns: number },
  letter: string,
) {
  const n = own.forwards - first.forwards;
  const t = own.ns - first.ns;
  const count = n === 0 ? "equal forward passes" : `${plural(Math.abs(n), "forward pass")} ${n < 0 ? "fewer" : "more"}`;
  const when = t === 0 ? "at the same time as" : `${duration(Math.abs(t))} ${t < 0 ? "earlier" : "later"} than`;
  return `${count}, ${when} ${letter}`;
}
