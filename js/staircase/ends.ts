// Labels at the ends of the staircase and of the ramp of plain decoding: their texts and places.
// Pure functions.
import type { Frame } from "../lib/chart";
import { stackName } from "../lib/drafter_names";
import { repeatsItself } from "../lib/metrics";
import type { Store } from "../lib/run";
import { duration, plural } from "../lib/words";
import type { Stairs } from "./stairs";

/** Pixels between two rows of labels, and between two labels of a row. */
export const LIFT = 27;
const APART = 10;
/** Half of a letter's width in pixels. */
const HALF_LETTER = 3.7;

export interface End {
  /** Time of the end, in nanoseconds or rounds. */
  at: number;
  title: string;
  words: string;
  cls: string;
}
/** A placed label: its middle, and the pixels by which it is lifted. */
export interface Label extends End {
  x: number;
  lift: number;
}

/** Format a time of the staircase; as rounds if times were not recorded. */
export const timeText = ({ timed }: Pick<Stairs, "timed">, ns: number): string =>
  timed ? duration(ns) : plural(Math.round(ns), "round");

/** Return the ends of the run and of plain decoding; with short labels if `isNarrow`. */
export function endsOf(store: Store, stairs: Stairs, isNarrow = false): End[] {
  const { gain, end, plain, tokens } = stairs;
  if (!tokens) return [];
  const stack = store.meta.stack ?? "";
  const title = stackName(stack) || "this run";
  // Put the caveat beside the number.
  const caveat = repeatsItself(store) ? ", repeats itself" : "";
  const times = gain === null || gain.impossible ? "" : ` · ${gain.value.toFixed(2)}×${caveat}`;
  const runEnd = {
    at: end,
    title,
    words: `${timeText(stairs, end)}${times}`,
    cls: "hsd-stairs-end",
  };
  if (plain === null) return [runEnd];
  const words = timeText(stairs, plain);
  return [
    runEnd,
    { at: plain, title: isNarrow ? "plain" : "plain decoding", words, cls: "hsd-stairs-plain-end" },
  ];
}

/** Place labels above their ends; lift one by a row if two would overlap. */
export function labelsOf(
  ends: readonly End[],
  frame: Pick<Frame, "x" | "left" | "width">,
): Label[] {
  const order = [...ends].sort((a, b) => a.at - b.at);
  let takenUntil = -Infinity;
  return order.map((end) => {
    const half = HALF_LETTER * Math.max(end.title.length, end.words.length);
    const rightmost = Math.min(frame.width - 4 - half, frame.x(end.at));
    const x = Math.max(frame.left + half, rightmost);
    const lift = x - half < takenUntil + APART ? LIFT : 0;
    takenUntil = Math.max(takenUntil, x + half);
    return { ...end, x, lift };
  });
}
