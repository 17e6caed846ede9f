// Labels of the highest steps of a staircase: how many tokens they brought. Pure.
import type { Frame } from "../lib/chart";
import type { Tread } from "./stairs";

/** The fewest tokens of a step with a label, and most labels. */
const FEWEST = 3;
const MOST = 6;
/** Pixels of a label, and what is between it and its riser. */
const SIZE = { width: 20, height: 14, gap: 5 };

export interface StepLabel {
  words: string;
  /** Its end, and its base line. */
  x: number;
  y: number;
}

/**
 * Labels of the highest steps, to the left of their risers and below the tops: there the picture is
 * empty. A riser as high as its label keeps it from touching those of other steps.
 */
export function stepLabels(
  treads: readonly Tread[],
  { x, y, left }: Pick<Frame, "x" | "y" | "left">,
): StepLabel[] {
  const hasRoom = ({ to, low, high }: Tread) =>
    y(low) - y(high) >= SIZE.height && x(to) - SIZE.gap - SIZE.width >= left;
  return treads
    .filter((tread) => tread.high - tread.low >= FEWEST && hasRoom(tread))
    .toSorted((a, b) => b.high - b.low - (a.high - a.low))
    .slice(0, MOST)
    .map(({ to, low, high }) => ({
      words: `+${high - low}`,
      x: x(to) - SIZE.gap,
      y: y(high) + SIZE.height - 3,
    }));
}
