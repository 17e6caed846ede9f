// Layout of the bars of drafters and of the break-even line, in percent of their column. Pure
// functions.
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
/** Percentage of the column that the longest bar takes; its value follows it. */
const MAX_BAR_SHARE = 72;

const mostOf = (all: readonly Measured[]) =>
  Math.max(1, ...all.map(({ value, high }) => Math.max(value, high ?? 0)));

/** Return the rows, most tokens per pass first; `even`: the position of a speed-up of 1. */
export function scaled(drafters: readonly Drafter[]): { rows: Row[]; even: number } {
  const sorted = [...drafters].sort((a, b) => b.tokens.value - a.tokens.value);
  const tokens = MAX_BAR_SHARE / mostOf(sorted.map(({ tokens }) => tokens));
  const speed = MAX_BAR_SHARE / mostOf(sorted.map((setting) => setting.speedup));
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
