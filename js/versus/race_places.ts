// Where the parts of a race's picture are: its frame, the labels at the finish, and the letters of
// runs on their way. Pure.
import { type Frame, frameOf, spread } from "../lib/chart";
import { duration } from "../lib/words";
import { crossingOf, goalOf, type Racing, shownAt } from "./race_time";

/** `top`: above the finish are labels, and lines of longer texts. */
const SIZE = { height: 290, left: 36, right: 26, top: 62, bottom: 24 };
/** The least width of the picture, and that where its room is not known. */
const WIDTH = { least: 260, usual: 640 };

/** The frame of a race's picture, `room` pixels wide if that is known, as high as the finish. */
export function frameFor(runs: readonly Racing[], end: number, room: number): Frame {
  return frameOf({ ...SIZE, width: Math.max(WIDTH.least, room || WIDTH.usual) }, end, goalOf(runs));
}

/** The label of a run where it crosses the finish: its middle, and its row above that line. */
interface Crossing {
  letter: string;
  words: string;
  at: number;
  x: number;
  row: number;
}
/** Half of a letter's width, and pixels between two labels of a row. */
const HALF_LETTER = 4.2;
const APART = 10;

/** Where runs cross the finish, with labels that do not touch. */
export function crossingsOf(
  runs: readonly Racing[],
  f: Pick<Frame, "x" | "left" | "width">,
): Crossing[] {
  const goal = goalOf(runs);
  const all = runs.map(({ letter, stairs }) => ({ letter, at: crossingOf(stairs, goal) }));
  const ends: number[] = [];
  return all
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

/** Pixels of the letter at a run's head, and between the clock and it. */
export const BADGE = 16;
const BESIDE = 7;

/** A run that is not at the finish yet: the middle of its letter, and its tokens. */
export interface Head {
  letter: string;
  x: number;
  y: number;
  tokens: number;
}
/** The letters of runs on their way, beside the clock; higher where two would touch. */
export function headsOf(
  runs: readonly Racing[],
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
