// Lays out a scene in pixels: columns are as wide as their widest chips, floors as high as their
// rows, each below its label. Pure functions.
import type { Store } from "../lib/run";
import type { Draft } from "../lib/tables";
import { columnsOfText } from "../lib/words";
import { type Chip, moveAt, type Scene } from "./scene";
import { token } from "./words";

/** Height of a row of chips, and of the label above the chips of a floor. */
const ROW = 34;
const WORDS = 26;
/** Space between floors, which contains the line of a beam. */
const BETWEEN = 6;
/** Padding and borders of the box around the stage. */
const BOX = { height: 18, width: 28 };
/** Minimum width of a column of chips, and of a beam. */
const MIN_WIDTH = { column: 40, beam: 24 };
/** Typical width of a column of chips. */
const USUAL_COLUMN = 96;
/** Distance below its place at which a chip waits before it appears. */
const UNBORN = 22;
/** Widths below which a view is narrow, and below which its chips are small. */
const NARROW = 620;
const SMALL_CHIPS = 480;

/** Widths of a character, of a chip's padding, of its mark, and of the gap between chips. */
interface Size {
  cell: number;
  pad: number;
  sign: number;
  gap: number;
}
const USUAL: Size = { cell: 7.85, pad: 22, sign: 16, gap: 8 };
const SMALL: Size = { cell: 7.85, pad: 16, sign: 14, gap: 4 };
/** Minimum characters of a chip, and the maxima where chips lack room (narrow) or not (wide). */
const CHARACTERS = { least: 2, narrow: 8, wide: 13 };
/** Number of characters shown of the text before the round. */
const BEFORE = 10;

export interface Layout {
  /** End of the text before the round; "": there is no room for it. */
  start: string;
  /** Left edges of the columns, and the right edge of the last one. */
  lefts: number[];
  /** Tops of the floors, the lowest floor first. */
  tops: number[];
  width: number;
  height: number;
  /** Width of the lines of the floors. */
  floor: number;
  gap: number;
}
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export const isNarrow = (width: number): boolean => width < NARROW;

/** Return the left edges of the columns, which follow the text before the round. */
function columnsOf(
  scene: Scene,
  start: string,
  { cell, pad, sign, gap }: Size,
  { narrow, most }: { narrow: boolean; most: number },
) {
  const widthOf = (text: string, mark: number) =>
    pad + mark + cell * Math.min(most, Math.max(CHARACTERS.least, columnsOfText(text)));
  /** Return the width of a chip's mark; in a narrow view, chips of the text have none. */
  const markOf = ({ rest }: Chip) => (narrow && rest === scene.round.level ? 0 : sign);
  const lefts = [start ? widthOf(start, 0) + gap : 0];
  for (let column = 0; column < scene.columns; column++) {
    const chips = scene.chips.filter((chip) => chip.column === column);
    const widths = chips.map((chip) => widthOf(token(chip.text), markOf(chip)));
    lefts.push(lefts[column] + Math.max(MIN_WIDTH.column, ...widths) + gap);
  }
  return lefts;
}

/** Return the tops of the floors; the floor of the text is uppermost. */
function floorsOf({ rows }: Scene) {
  const tops: number[] = [];
  let y = 0;
  for (let floor = rows.length - 1; floor >= 0; floor--) {
    tops[floor] = y + WORDS;
    y += WORDS + ROW * rows[floor] + BETWEEN;
  }
  return { tops, height: y - BETWEEN };
}

/** Lay out a scene in a view and a box of these widths; `before`: the text before the round. */
export function layoutOf(scene: Scene, before: string, view: number, box: number): Layout {
  const narrow = isNarrow(view);
  const size = view < SMALL_CHIPS ? SMALL : USUAL;
  // A narrow view has no room for the text before the round.
  const start = narrow ? "" : `…${token(before).slice(-BEFORE)}`;
  const fullColumns = columnsOf(scene, start, size, { narrow, most: CHARACTERS.wide });
  // Shorten chips on a narrow view only if their full texts lack room.
  const isCut = narrow && fullColumns[scene.columns] - size.gap > box - BOX.width;
  const lefts = isCut
    ? columnsOf(scene, start, size, { narrow, most: CHARACTERS.narrow })
    : fullColumns;
  const width = lefts[scene.columns];
  return {
    start,
    lefts,
    ...floorsOf(scene),
    width,
    floor: Math.max(width, box - BOX.width),
    gap: size.gap,
  };
}

/**
 * Return the height of the box. It is the same in all rounds, so that the page below does not move:
 * each floor has room for one row if all drafts are chains that one level verifies, else for two.
 * Larger trees scroll in the box.
 */
export function boxHeight({ tops }: Pick<Layout, "tops">, isChain = false): number {
  const below = tops.length - 1;
  const rows = isChain ? 1 : 2;
  return BOX.height + WORDS + ROW + (BETWEEN + WORDS + rows * ROW) * below;
}

/** Whether all drafts of a run are chains that one level verifies: a token has one row. */
export function isChained({ drafts, rounds }: Pick<Store, "drafts" | "rounds">): boolean {
  const isChain = (nodes: readonly Draft[]) =>
    new Set(nodes.map(({ depth }) => depth)).size === nodes.length;
  const isAlone = [...rounds.values()].every(({ parent }) => parent === null);
  return isAlone && [...drafts.values()].every(isChain);
}

/** Return whether rounds of this depth are wider than half of a view. */
export const isWide = (depth: number, view: number): boolean =>
  (depth + 2) * USUAL_COLUMN > view / 2;

/** Return the place of a chip at a time of its scene. */
export function chipBox({ lefts, tops, gap }: Layout, chip: Chip, t: number): Box {
  const move = moveAt(chip, t);
  const floor = move?.floor ?? chip.born;
  const left = lefts[chip.column];
  return {
    left,
    top: tops[floor] + ROW * (chip.rows[floor] ?? 0) + (move ? 0 : UNBORN),
    width: lefts[chip.column + 1] - left - gap,
    height: ROW,
  };
}

/** Return the places on lower floors that a chip has left. */
export function leftBoxes(layout: Layout, chip: Chip, t: number): Box[] {
  const { lefts, tops, gap } = layout;
  const floor = moveAt(chip, t)?.floor ?? chip.born;
  const left = lefts[chip.column];
  const width = lefts[chip.column + 1] - left - gap;
  const below = tops.slice(chip.born, floor);
  return below.map((top, k) => {
    const row = chip.rows[chip.born + k] ?? 0;
    return { left, top: top + ROW * row, width, height: ROW };
  });
}

/** Return the box of a floor with its label: the full width, down to the next floor. */
export function floorBox({ tops, floor: width, height }: Layout, floor: number): Box {
  const top = tops[floor] - WORDS;
  const foot = floor > 0 ? tops[floor - 1] - WORDS : height;
  return { left: 0, top, width, height: foot - top };
}

/** Return the box of a beam on the line below its floor; its height is the reach of its light. */
export function beamBox(
  layout: Layout,
  { floor, left, right }: Record<"floor" | "left" | "right", number>,
): Box {
  const { lefts, tops, gap } = layout;
  const line = floorBox(layout, floor - 1).top;
  return {
    left: lefts[left],
    top: line - 2,
    width: Math.max(MIN_WIDTH.beam, lefts[right] - lefts[left] - gap),
    height: tops[floor - 1] - line + ROW,
  };
}

/** The visible part of a box that scrolls. */
export interface Sight {
  left: number;
  top: number;
  width: number;
  height: number;
}
/** Return the scroll position at which a chip is visible; the present one if it is already. */
export function scrollTo(chip: Box, sight: Sight): { left: number; top: number } {
  const right = chip.left + chip.width;
  const foot = chip.top + chip.height;
  let { left, top } = sight;
  if (chip.left < left) left = chip.left - 16;
  else if (right > left + sight.width - 32) left = right - sight.width + 64;
  if (chip.top < top) top = chip.top - 8;
  else if (foot > top + sight.height - 14) top = foot - sight.height + 24;
  return { left, top };
}
