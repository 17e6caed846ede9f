// Layout of the columns of a diagnosis: the predicted value for each number of draft tokens and
// below, on the same axis, the acceptance rate at that position of the draft. Pure functions.
import type { Setting } from "./spec";

/** A column, in pixels. */
export interface Column {
  x: number;
  y: number;
  wide: number;
  high: number;
}
/** The interval of a column's value, in pixels from the top. */
export interface Whisker {
  x: number;
  low: number;
  high: number;
}
interface Upper extends Column {
  setting: Setting;
  whisker: Whisker | null;
}
interface Lower extends Column {
  position: number;
  rate: number;
  /** Whether the best setting drafts this position. */
  kept: boolean;
}
export interface Columns {
  width: number;
  height: number;
  /** Width of the names of the rows. */
  gutter: number;
  isNarrow: boolean;
  /** Numbers of the axis, at the middles of their columns, and their base line. */
  axis: { tokens: number; x: number }[];
  axisY: number;
  upper: Upper[];
  lower: Lower[];
  /** Base lines of both rows. */
  feet: { upper: number; lower: number };
  /** Vertical position of plain decoding; null: the row does not show speed-ups. */
  plainY: number | null;
}

/** Width from which names and values are written in full, in pixels. */
const ROOMY = 560;
const GUTTER = { wide: 132, narrow: 74 };
const ROW = { upper: 150, lower: 64 };
/** Pixels above each row for the values of its columns, and height of the axis. */
const ABOVE = { upper: 40, lower: 22 };
const AXIS = 30;
/** Share of the available width that a column uses, and its maximum width in pixels. */
const SHARE = 0.66;
const MAX_COLUMN_WIDTH = 64;

/** Return the sorted draft lengths of both rows. */
function lengthsOf(settings: readonly Setting[], positions: number): number[] {
  const lengths = new Set(settings.map(({ tokens }) => tokens));
  for (let k = 1; k <= positions; k++) lengths.add(k);
  return [...lengths].sort((a, b) => a - b);
}

/** Lay out both rows on `width` pixels; `isSpeed`: the upper row shows speed-ups. */
export function columnsOf(
  settings: readonly Setting[],
  acceptance: readonly number[],
  isSpeed: boolean,
  width: number,
): Columns {
  const isNarrow = width < ROOMY;
  const gutter = isNarrow ? GUTTER.narrow : GUTTER.wide;
  const lengths = lengthsOf(settings, acceptance.length);
  const step = Math.max(1, width - gutter) / Math.max(1, lengths.length);
  const wide = Math.min(MAX_COLUMN_WIDTH, SHARE * step);
  const middle = (tokens: number) => gutter + (lengths.indexOf(tokens) + 0.5) * step;
  const highest = Math.max(1, ...settings.map(({ value, high }) => Math.max(value, high ?? 0)));
  const upperFoot = settings.length ? ABOVE.upper + ROW.upper : 0;
  const heightOf = (value: number) => (ROW.upper * value) / highest;
  const yOf = (value: number) => upperFoot - heightOf(value);
  const upper = settings.map((setting): Upper => {
    const { tokens, value, low, high } = setting;
    const x = middle(tokens);
    const ends = low === null || high === null ? null : { x, low: yOf(low), high: yOf(high) };
    return { setting, x: x - wide / 2, y: yOf(value), wide, high: heightOf(value), whisker: ends };
  });
  const axisY = upperFoot + AXIS / 2 + 5;
  const lowerFoot = upperFoot + AXIS + (acceptance.length ? ABOVE.lower + ROW.lower : 0);
  const best = settings.find((setting) => setting.best)?.tokens ?? Infinity;
  const lower = acceptance.map((rate, k): Lower => {
    const high = ROW.lower * rate;
    const isDrafted = k + 1 <= best;
    const x = middle(k + 1) - wide / 2;
    return { position: k + 1, rate, x, y: lowerFoot - high, wide, high, kept: isDrafted };
  });
  return {
    width,
    height: lowerFoot + 2,
    gutter,
    isNarrow,
    axis: lengths.map((tokens) => ({ tokens, x: middle(tokens) })),
    axisY,
    upper,
    lower,
    feet: { upper: upperFoot, lower: lowerFoot },
    plainY: isSpeed && settings.length ? yOf(1) : null,
  };
}
