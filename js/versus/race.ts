// Compared runs on one clock: ns from the first round's start. Pure.
import type { Store } from "../lib/run";
import { duration, plural } from "../lib/words";
import { type Stairs, stairsOf } from "../staircase/stairs";

export interface Runner {
  letter: string;
  /** A description of the stack; "": unknown. */
  title: string;
  store: Store;
  stairs: Stairs;
}
export const runnerOf = (store: Store, title: string): Runner => ({
  letter: store.letter,
  title,
  store,
  stairs: stairsOf(store),
});

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
export const shownAt = ({ treads }: Stairs, ns: number) => treads.findLast((t) => t.to <= ns)?.high ?? 0;

/** Target passes and time up to output position `k`; null if the run has no such token. */
export function spentAt({ treads }: Stairs, k: number) {
  const at = treads.findIndex((t) => t.low <= k && k < t.high);
  return at < 0 ? null : { passes: at + 1, ns: treads[at].to };
}

const list = (s: string[]) => (s.length > 1 ? `${s.slice(0, -1).join(", ")} and ${s[s.length - 1]}` : s[0]);

/** The state of the race at a time, as text. */
export function stateAt(runs: Pick<Runner, "letter" | "stairs">[], ns: number) {
  const at = runs.map(({ letter, stairs }) => {
    const { end, tokens: all } = stairs;
    return { letter, end, all, shown: shownAt(stairs, ns), done: end <= ns };
  });
  const finished = at.filter((r) => r.done).sort((a, b) => a.end - b.end);
  const running = at.filter((r) => !r.done);
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

/** The difference of one position to the first run, as text: target passes and time. */
export function gapWords(own: { passes: number; ns: number }, first: { passes: number; ns: number }, letter: string) {
  const n = own.passes - first.passes;
  const t = own.ns - first.ns;
  const count = n === 0 ? "equal passes" : `${plural(Math.abs(n), "pass")} ${n < 0 ? "fewer" : "more"}`;
  const when = t === 0 ? "at the same time as" : `${duration(Math.abs(t))} ${t < 0 ? "earlier" : "later"} than`;
  return `${count}, ${when} ${letter}`;
}
