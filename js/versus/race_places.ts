// Layout of a race's picture: its frame, the labels at the finish, and the letters of running runs.
// Pure functions.
import { type Frame, frameOf, spread } from "../lib/chart";
import { duration } from "../lib/words";
import { crossingOf, goalOf, type RacingRun, shownAt } from "./race_time";

/** Size and margins in pixels; above the finish (`top`) are labels. */
const SIZE = { left: 36, right: 26, top: 62, bottom: 24 };
const HEIGHT = { narrow: 290, wide: 380 };
/** Width from which the picture is higher, in pixels. */
const WIDE = 900;
/** Minimum width of the picture, and its width if the available width is unknown. */
const WIDTH = { least: 260, usual: 640 };

/** Return the frame of a race, up to the finish; `room`: available width, 0: unknown. */
export function frameFor(runs: readonly RacingRun[], end: number, room: number): Frame {
  const width = Math.max(WIDTH.least, room || WIDTH.usual);
  const height = width < WIDE ? HEIGHT.narrow : HEIGHT.wide;
  return frameOf({ ...SIZE, width, height }, end, goalOf(runs));
}

/** The label of a run at the finish: its middle, and its row above the line. */
interface Crossing {
  letter: string;
  words: string;
  at: number;
  x: number;
  row: number;
}
/** Half of a letter's width, and gap between two labels of a row, in pixels. */
const HALF_LETTER = 4.2;
const APART = 10;

/** Return the labels of runs at the finish, without overlap. */
export function crossingsOf(
  runs: readonly RacingRun[],
  f: Pick<Frame, "x" | "left" | "width">,
): Crossing[] {
  const goal = goalOf(runs);
  const finishes = runs.map(({ letter, stairs }) => ({ letter, at: crossingOf(stairs, goal) }));
  const ends: number[] = [];
  return finishes
    .toSorted((a, b) => a.at - b.at)
    .map(({ letter, at }) => {
      const words = duration(at);
      const half = HALF_LETTER * (letter.length + 1 + words.length);
      const x = Math.max(f.left + half, Math.min(f.width - 2 - half, f.x(at)));
      const free = ends.findIndex((end) => x - half > end + APART);
      const row = free < 0 ? ends.length : free;
      ends[row] = x + half;
      return { letter, words, at, x, row };
    });
}

/** Size of the letter at a run's head, and its gap to the clock, in pixels. */
export const BADGE = 16;
const BESIDE = 7;

/** A run before the finish: the middle of its letter, and its number of tokens. */
export interface Head {
  letter: string;
  x: number;
  y: number;
  tokens: number;
}
/** Return the letters of runs before the finish, beside the clock; higher if two would overlap. */
export function headsOf(
  runs: readonly RacingRun[],
  f: Pick<Frame, "x" | "y" | "width">,
  ns: number,
): Head[] {
  const goal = goalOf(runs);
  const running = runs.filter(({ stairs }) => crossingOf(stairs, goal) > ns);
  if (ns <= 0) return [];
  const x = Math.min(f.x(ns) + BESIDE + BADGE / 2, f.width - BADGE / 2);
  const upwards = running.map(({ letter, stairs }) => {
    const tokens = shownAt(stairs, ns);
    return { letter, x, y: -f.y(tokens), tokens };
  });
  return spread(upwards, BADGE + 2).map((head) => ({ ...head, y: -head.y }));
}
