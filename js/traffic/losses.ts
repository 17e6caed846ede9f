// The bar of what is lost, in parts that are labelled where they are: inside, or below with a line
// to their place. Pure.
import type { Loss } from "./spec";

/** A part of the bar, in pixels, and its label: below the bar in a row of its own, or inside. */
export interface Part {
  loss: Loss;
  x: number;
  wide: number;
  words: string;
  /** The row below the bar; -1: inside. */
  row: number;
}

/** Pixels of a letter at most, and around the words inside a part. */
const LETTER = 6.9;
const ROOM = 16;
const GAP = 2;

const percent = (share: number) => `${Math.round(100 * share)} %`;
const shortWords = ({ name, share }: Loss) => `${name} ${percent(share)}`;
const longWords = (loss: Loss) =>
  loss.ms === null ? shortWords(loss) : `${shortWords(loss)}, ${loss.ms.toPrecision(2)} ms`;

/** The longest of the words that fits; "": none does. */
function inside(loss: Loss, wide: number): string {
  const fits = (words: string) => LETTER * words.length + ROOM <= wide;
  return [longWords(loss), shortWords(loss)].find(fits) ?? "";
}

/** The parts of a bar of `width` pixels, the largest first. */
export function partsOf(losses: readonly Loss[], width: number): Part[] {
  const sorted = [...losses].sort((a, b) => b.share - a.share);
  const whole = sorted.reduce((sum, { share }) => sum + share, 0) || 1;
  const room = width - GAP * Math.max(0, sorted.length - 1);
  let x = 0;
  let row = 0;
  return sorted.map((loss) => {
    const wide = (room * loss.share) / whole;
    const words = inside(loss, wide);
    const part = { loss, x, wide, words: words || longWords(loss), row: words ? -1 : row };
    if (!words) row += 1;
    x += wide + GAP;
    return part;
  });
}
/** The rows of labels below the bar. */
export const rowsBelow = (parts: readonly Part[]): number =>
  1 + Math.max(-1, ...parts.map(({ row }) => row));
