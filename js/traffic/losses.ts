// Layout of the bar of losses: its parts with labels inside, or below with a line to the part. Pure
// functions.
import type { Loss } from "./spec";

/** A part of the bar in pixels, with its label inside or in a row below the bar. */
export interface Part {
  loss: Loss;
  x: number;
  wide: number;
  words: string;
  /** Row of the label below the bar; -1: inside. */
  row: number;
}

/** Maximum width of a letter, and room around the label inside a part, in pixels. */
const LETTER = 6.9;
const ROOM = 16;
const GAP = 2;

const percent = (share: number) => `${Math.round(100 * share)} %`;
const shortText = ({ name, share }: Loss) => `${name} ${percent(share)}`;
const longText = (loss: Loss) =>
  loss.ms === null ? shortText(loss) : `${shortText(loss)}, ${loss.ms.toPrecision(2)} ms`;

/** Return the longest label that fits inside; "": none does. */
function inside(loss: Loss, wide: number): string {
  const fits = (words: string) => LETTER * words.length + ROOM <= wide;
  return [longText(loss), shortText(loss)].find(fits) ?? "";
}

/** Return the parts of a bar of `width` pixels, largest first. */
export function partsOf(losses: readonly Loss[], width: number): Part[] {
  const sorted = [...losses].sort((a, b) => b.share - a.share);
  const total = sorted.reduce((sum, { share }) => sum + share, 0) || 1;
  const room = width - GAP * Math.max(0, sorted.length - 1);
  let x = 0;
  let row = 0;
  return sorted.map((loss) => {
    const wide = (room * loss.share) / total;
    const words = inside(loss, wide);
    const part = { loss, x, wide, words: words || longText(loss), row: words ? -1 : row };
    if (!words) row += 1;
    x += wide + GAP;
    return part;
  });
}
/** Return the number of rows of labels below the bar. */
export const rowsBelow = (parts: readonly Part[]): number =>
  1 + Math.max(-1, ...parts.map(({ row }) => row));
