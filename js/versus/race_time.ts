// The race's runs on one clock: what each has at a time, when it crosses the finish, and the state
// as text. Pure.
import type { Store } from "../lib/run";
import { duration, listed } from "../lib/words";
import { type Stairs, stairsOf } from "../staircase/stairs";

/** A compared run on the common clock: ns from its first round's start. */
export interface Runner {
  letter: string;
  /** A description of the stack; "": unknown. */
  title: string;
  store: Store;
  stairs: Stairs;
}
export const runnerOf = (store: Store, title: string): Runner => ({
  letter: store.letter,
  title: title || store.meta.stack,
  store,
  stairs: stairsOf(store),
});

/** The speeds at which a race can be played, and their words. */
export const SPEEDS = [
  ["1", "real time"],
  ["0.1", "1/10 speed"],
  ["0.01", "1/100 speed"],
];
/** The speed at which the race takes closest to eight seconds. */
export function fitSpeed(ns: number) {
  const off = (s: string) => Math.abs(Math.log(ns / 1e9 / Number(s) / 8));
  return SPEEDS.map(([s]) => s).reduce((a, b) => (off(b) < off(a) ? b : a));
}
/** Tokens at a time: those of a round appear when it ends. */
export const shownAt = ({ treads }: Stairs, ns: number) =>
  treads.findLast((t) => t.to <= ns)?.high ?? 0;
export const passesAt = ({ treads }: Stairs, ns: number) => treads.filter((t) => t.to <= ns).length;
/** Target passes and time up to output position `k`; null if the run has no such token. */
export function spentAt({ treads }: Stairs, k: number) {
  const at = treads.findIndex((t) => t.low <= k && k < t.high);
  return at < 0 ? null : { passes: at + 1, ns: treads[at].to };
}

/** What of a runner the race is about. */
export type Racing = Pick<Runner, "letter" | "stairs">;

/** The tokens at which a race ends: those of the shortest text, which every run has. */
export const goalOf = (runs: readonly Racing[]): number =>
  Math.min(...runs.map(({ stairs }) => stairs.tokens));
/** When a run has as many tokens as this: the end of the round that brings them. */
export function crossingOf({ treads, tokens, end }: Stairs, goal: number): number {
  if (goal >= tokens) return end;
  return treads.find(({ high }) => high >= goal)?.to ?? end;
}

/** The state of the race at a time, as text. */
export function stateAt(runs: readonly Racing[], ns: number) {
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
