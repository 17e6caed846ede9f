// Labels of the highest steps of a staircase: their numbers of tokens. Pure functions.
import type { Frame } from "../lib/chart";
import type { Tread } from "./stairs";

/** Minimum number of tokens of a labelled step, and maximum number of labels. */
const MIN_TOKENS = 3;
const MAX_LABELS = 6;
/** Size of a label, and its gap to the riser, in pixels. */
const SIZE = { width: 20, height: 14, gap: 5 };

export interface StepLabel {
  words: string;
  /** Right end of the label, and its base line. */
  x: number;
  y: number;
}

/**
 * Return labels of the highest steps. They are to the left of the risers and below their tops,
 * where the picture is empty. Risers at least as high as a label keep labels of other steps apart.
 */
export function stepLabels(
  treads: readonly Tread[],
  { x, y, left }: Pick<Frame, "x" | "y" | "left">,
): StepLabel[] {
  const hasRoom = ({ to, low, high }: Tread) =>
    y(low) - y(high) >= SIZE.height && x(to) - SIZE.gap - SIZE.width >= left;
  return treads
    .filter((tread) => tread.high - tread.low >= MIN_TOKENS && hasRoom(tread))
    .toSorted((a, b) => b.high - b.low - (a.high - a.low))
    .slice(0, MAX_LABELS)
    .map(({ to, low, high }) => ({
      words: `+${high - low}`,
      x: x(to) - SIZE.gap,
      y: y(high) + SIZE.height - 3,
    }));
}
