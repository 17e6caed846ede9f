// Labels of the highest steps of a staircase: how many tokens they brought. Pure.
import type { Frame } from "../lib/chart";
import type { Tread } from "./stairs";

/** The fewest tokens of a step with a label, and most labels. */
const FEWEST = 3;
const MOST = 6;
/** Pixels of a label: its height, a letter, and what is between it and its riser. */
const SIZE = { height: 14, letter: 8, gap: 5 };

export interface StepLabel {
  words: string;
  /** Its end, and its base line. */
  x: number;
  y: number;
}

/**
 * Labels to the left of risers, below their tops: there the picture is empty. The highest step
 * comes first; one has none where it would touch another label or its own tread.
 */
export function stepLabels(
  treads: readonly Tread[],
  { x, y, left }: Pick<Frame, "x" | "y" | "left">,
): StepLabel[] {
  const labels: StepLabel[] = [];
  const width = ({ words }: StepLabel) => SIZE.letter * words.length;
  const touches = (one: StepLabel, other: StepLabel) =>
    Math.abs(one.y - other.y) < SIZE.height &&
    one.x > other.x - width(other) &&
    other.x > one.x - width(one);
  for (const { to, low, high } of treads.toSorted((a, b) => b.high - b.low - (a.high - a.low))) {
    if (high - low < FEWEST || labels.length === MOST) break;
    const words = `+${high - low}`;
    const label = { words, x: x(to) - SIZE.gap, y: y(high) + SIZE.height - 3 };
    const isFree = y(low) - y(high) >= SIZE.height && label.x - width(label) >= left;
    if (isFree && !labels.some((other) => touches(label, other))) labels.push(label);
  }
  return labels;
}
