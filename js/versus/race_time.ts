// The runs of a race on one clock: their tokens at a time, the time at which they cross the finish,
// and the state as text. Pure functions.
import { runName } from "../lib/drafter_names";
import type { Store } from "../lib/run";
import { type Suite, suiteOf } from "../lib/suites";
import { duration, listed } from "../lib/words";
import { type Stairs, stairsOf, type Tread } from "../staircase/stairs";

/** A compared run on the common clock, in nanoseconds from the start of its first round. */
export interface Runner {
  letter: string;
  /** The name of its stack. */
  title: string;
  store: Store;
  stairs: Stairs;
  /** Its speed-up on many prompts; null: not measured. */
  suite: Suite | null;
}
export const runnerOf = (store: Store, suites?: readonly Suite[]): Runner => ({
  letter: store.letter,
  title: runName(store),
  store,
  stairs: stairsOf(store),
  suite: suiteOf(store, suites),
});

/** Speeds at which a race can be played, with labels. */
export const SPEEDS = [
  ["1", "real time"],
  ["0.1", "1/10 speed"],
  ["0.01", "1/100 speed"],
];
/** Return the speed at which the race takes closest to eight seconds. */
export function fitSpeed(ns: number) {
  const off = (s: string) => Math.abs(Math.log(ns / 1e9 / Number(s) / 8));
  return SPEEDS.map(([s]) => s).reduce((a, b) => (off(b) < off(a) ? b : a));
}
/** Return the number of tokens at a time; those of a round appear at its end. */
export const shownAt = ({ treads }: Stairs, ns: number) =>
  treads.findLast((t) => t.to <= ns)?.high ?? 0;
export const passesAt = ({ treads }: Stairs, ns: number) => treads.filter((t) => t.to <= ns).length;
/** Return the treads up to a time; that of an unfinished round has no tokens yet. */
export const treadsUntil = ({ treads }: Pick<Stairs, "treads">, ns: number): Tread[] =>
  treads
    .filter(({ from }) => from < ns)
    .map((tread) => (tread.to <= ns ? tread : { ...tread, to: ns, high: tread.low }));
/** Return the target passes and time up to output position `k`; null: the run has no such token. */
export function spentAt({ treads, tokens, end }: Stairs, k: number) {
  const index = treads.findIndex((t) => t.low <= k && k < t.high);
  if (index < 0) return null;
  const { to, high } = treads[index];
  return { passes: index + 1, ns: high < tokens ? to : end };
}

/** The properties of a run that the race needs. */
export type RacingRun = Pick<Runner, "letter" | "stairs">;

/** Return the number of tokens at the finish: the length of the shortest text. */
export const goalOf = (runs: readonly Pick<Runner, "stairs">[]): number =>
  Math.min(...runs.map(({ stairs }) => stairs.tokens));
/** Return the end of the round with which a run reaches `goal` tokens. */
export function crossingOf({ treads, tokens, end }: Stairs, goal: number): number {
  if (goal >= tokens) return end;
  return treads.find(({ high }) => high >= goal)?.to ?? end;
}

/** Describe the state of the race at a time. */
export function stateAt(runs: readonly RacingRun[], ns: number) {
  const goal = goalOf(runs);
  const crossed = runs.map(({ letter, stairs }) => ({ letter, at: crossingOf(stairs, goal) }));
  const running = runs.filter(({ stairs }) => crossingOf(stairs, goal) > ns);
  if (!running.length) {
    const [first, ...others] = crossed.toSorted((a, b) => a.at - b.at);
    const later = others.map(({ letter, at }) => `${letter} ${duration(at)}`);
    return `${first.letter} finished first: ${duration(first.at)}; ${listed(later)}.`;
  }
  const has = running.map(
    ({ letter, stairs }) => `${letter} has ${shownAt(stairs, ns)} of ${goal} tokens`,
  );
  const done = crossed.filter(({ at }) => at <= ns).map(({ letter }) => letter);
  return `${done.length ? `${listed(done)} finished; ` : ""}${listed(has)}.`;
}
