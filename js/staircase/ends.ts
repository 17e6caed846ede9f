// The ends of the staircase and of its ramp: what they say, and where their labels are. Pure.
import type { Frame } from "../lib/chart";
import { repeatsItself } from "../lib/metrics";
import type { Store } from "../lib/run";
import { draftersWords, isPlain } from "../lib/stack";
import { duration, plural } from "../lib/words";
import type { Stairs } from "./stairs";

/** Pixels between two rows of labels, and between two labels of a row. */
export const LIFT = 27;
const APART = 10;
/** Half of a letter's width. */
const HALF_LETTER = 3.7;

export interface End {
  /** Its time. */
  at: number;
  title: string;
  words: string;
  cls: string;
}
/** A label in its place: its middle, and how much higher than usual it is. */
export interface Label extends End {
  x: number;
  lift: number;
}

/** A time of the staircase: rounds where none were recorded. */
export const timeWords = ({ timed }: Pick<Stairs, "timed">, ns: number): string =>
  timed ? duration(ns) : plural(Math.round(ns), "round");

/** The ends of the run and of plain decoding, with what they took; in few words if `isNarrow`. */
export function endsOf(store: Store, stairs: Stairs, isNarrow = false): End[] {
  const { gain, end, plain, tokens } = stairs;
  if (!tokens) return [];
  const stack = store.meta.stack ?? "";
  const title = draftersWords(stack) || (isPlain(stack) ? "plain decoding" : "this run");
  // A caveat belongs beside its number.
  const caveat = repeatsItself(store) ? ", repeats itself" : "";
  const times = gain === null || gain.impossible ? "" : ` · ${gain.value.toFixed(2)}×${caveat}`;
  const own = {
    at: end,
    title,
    words: `${timeWords(stairs, end)}${times}`,
    cls: "hsd-stairs-end",
  };
  if (plain === null) return [own];
  const words = timeWords(stairs, plain);
  return [
    own,
    { at: plain, title: isNarrow ? "plain" : "plain decoding", words, cls: "hsd-stairs-plain-end" },
  ];
}

/** Places of labels above their ends: a row higher where two would touch. */
export function labelsOf(
  ends: readonly End[],
  frame: Pick<Frame, "x" | "left" | "width">,
): Label[] {
  const order = [...ends].sort((a, b) => a.at - b.at);
  let taken = -Infinity;
  return order.map((end) => {
    const half = HALF_LETTER * Math.max(end.title.length, end.words.length);
    const rightmost = Math.min(frame.width - 4 - half, frame.x(end.at));
    const x = Math.max(frame.left + half, rightmost);
    const lift = x - half < taken + APART ? LIFT : 0;
    taken = Math.max(taken, x + half);
    return { ...end, x, lift };
  });
}
