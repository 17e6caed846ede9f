// Where the bars of drafters end, in percent of their column; the break-even line in it. Pure.
import type { Drafter, Measured } from "./spec";

/** The ends of a bar and of its interval, in percent of the column. */
export interface Bar {
  end: number;
  low: number | null;
  high: number | null;
}
export interface Row {
  drafter: Drafter;
  tokens: Bar;
  speedup: Bar;
  pays: boolean;
}
/** The part of a column that the longest bar takes: its value is behind it. */
const LONGEST = 72;

const mostOf = (all: readonly Measured[]) =>
  Math.max(1, ...all.map(({ value, high }) => Math.max(value, high ?? 0)));

/** The rows, the most tokens per pass first; `even`: where a speed-up of 1 is. */
export function scaled(drafters: readonly Drafter[]): { rows: Row[]; even: number } {
  const sorted = [...drafters].sort((a, b) => b.tokens.value - a.tokens.value);
  const tokens = LONGEST / mostOf(sorted.map((one) => one.tokens));
  const speed = LONGEST / mostOf(sorted.map((one) => one.speedup));
  const bar = ({ value, low, high }: Measured, unit: number): Bar => ({
    end: value * unit,
    low: low === null ? null : low * unit,
    high: high === null ? null : high * unit,
  });
  const rows = sorted.map((drafter) => ({
    drafter,
    tokens: bar(drafter.tokens, tokens),
    speedup: bar(drafter.speedup, speed),
    pays: drafter.pays === "yes",
  }));
  return { rows, even: speed };
}
