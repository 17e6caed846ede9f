// What a picture of a dart board shows, and its scales. Pure functions.
import { type Board, lawOf, pOf, proposedOf } from "./board";
import { noiseOf, PILE } from "./chance";

export const SIZE = { height: 260, whole: 300, left: 40, top: 26, bottom: 36 };
/** Pixels between two lines of names, where one line has no room for them. */
export const LINE = 15;
/** Maximum width of a column in pixels, its share of the step, and the width of a letter. */
export const COLUMN = { most: 80, share: 0.74, letter: 8.2 };
/** Minimum range of the vertical axis, as a probability. */
const MIN_RANGE = 0.02;

/**
 * The recorded draws at this position: the drafter's dart, and the column of the token that
 * replaced it.
 */
export interface RecordedDraws {
  first: { column: number; y: number; hit: boolean } | null;
  token: number | null;
}
export interface BoardPicture {
  board: Board;
  names: string[];
  families: (string | null)[];
  recorded: RecordedDraws | null;
  /** Whether values are in percent on an axis to 100 %, for a board whose q changes. */
  isWhole?: boolean;
}
/** The scales of the picture. */
export interface Scale {
  height: number;
  foot: number;
  /** Names of columns have two lines, in turns. */
  isTight: boolean;
  step: number;
  wide: number;
  /** Largest probability of the vertical axis. */
  most: number;
  left(k: number): number;
  middle(k: number): number;
  y(p: number): number;
}
/** The scale; it has room for the first pile of each rule, so that throws do not move it. */
export function scaleOf(
  { board, names, isWhole }: BoardPicture,
  width: number,
  isNamed: boolean,
): Scale {
  const { columns } = board;
  const broken = lawOf(board, true);
  const pileAt = (p: number) => p + noiseOf(p, PILE.from);
  const heights = columns.map((c, k) =>
    Math.max(proposedOf(board, c), pileAt(pOf(c)), pileAt(broken[k])),
  );
  const highest = isWhole ? 1 : Math.min(1, Math.max(...heights, MIN_RANGE));
  const step = (width - SIZE.left) / columns.length;
  const isTight = names.some((name) => labelOf(name).length * COLUMN.letter > step);
  const foot = (isWhole ? SIZE.whole : SIZE.height) - SIZE.bottom - (isTight ? LINE : 0);
  const wide = Math.min(COLUMN.most, step * COLUMN.share);
  const middle = (k: number) => SIZE.left + step * (k + 0.5);
  return {
    height: foot + SIZE.bottom + LINE * (Number(isTight) + Number(isNamed)),
    foot,
    isTight,
    step,
    wide,
    most: highest,
    middle,
    left: (k) => middle(k) - wide / 2,
    y: (p) => foot - (p / highest) * (foot - SIZE.top),
  };
}

/** Return the label of a token; punctuation is in quotes. */
export const labelOf = (name: string) => (/[\p{L}\p{N}]/u.test(name) ? name : `“${name}”`);
