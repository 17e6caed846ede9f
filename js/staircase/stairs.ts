// The staircase of a run: x is the time after prefill, y the number of tokens. The tread of a round
// is its duration, the riser its tokens. Pure functions.

import type { Span } from "../lib/events";
import { gainOf } from "../lib/metrics";
import type { Store } from "../lib/run";

export type Stairs = ReturnType<typeof stairsOf>;

/** The time of a round (`from` … `to`), and the numbers of tokens before and after it. */
export interface Tread {
  round: number;
  from: number;
  to: number;
  low: number;
  high: number;
}
/** Treads in the horizontal unit of a picture. */
type TreadScale = Pick<Stairs, "treads" | "end">;

/**
 * Return the staircase of a run. `treads` has one tread per target round, in nanoseconds from the
 * start of the first round. `end` is the end of the decode, as in the metrics, or of the last round
 * during the run. `gain` is the speed-up over plain decoding (lib/metrics.ts), and `plain` the end
 * of plain decoding according to it; both are null if plain decoding was not measured. If not
 * `timed`, times were not recorded, and each round is one unit wide.
 */
export function stairsOf(store: Store) {
  const { rounds } = store.index();
  const rows = rounds.map((span) => store.rounds.get(span.id));
  const timed = rows.every((row) => row && row.start_ns !== null && row.duration_ns !== null);
  const zero = rows[0]?.start_ns ?? 0;
  const treads = evenTreads(rounds).map((tread, k) => {
    const row = rows[k];
    if (!timed || !row) return tread;
    const from = row.start_ns - zero;
    return { ...tread, from, to: from + row.duration_ns };
  });
  const tokens = store.tokens.length;
  const { wall_ns, prefill_ns } = store.meta;
  const end = timed && wall_ns ? wall_ns - (prefill_ns ?? 0) : (treads.at(-1)?.to ?? 0);
  const gain = timed && tokens ? gainOf(store) : null;
  return { treads, tokens, end, gain, plain: gain ? end * gain.value : null, timed };
}

/** Return treads of equal width, for a run without times and for the strip of rounds. */
export const evenTreads = (rounds: readonly Span[]): Tread[] =>
  rounds.map(({ id, first, count }, k) => ({
    round: id,
    from: k,
    to: k + 1,
    low: first,
    high: first + count,
  }));

/** Return the event at a time. Events of a round are spread evenly over its duration. */
export function stepAt(
  stairs: TreadScale,
  ns: number,
  spans: readonly { begin: number; end: number }[],
): number {
  const { treads } = stairs;
  if (!treads.length) return 0;
  const k = Math.max(
    0,
    treads.findLastIndex((tread) => tread.from <= ns),
  );
  const { from, to } = treads[k];
  const { begin, end } = spans[k];
  const share = to > from ? Math.max(0, Math.min(1, (ns - from) / (to - from))) : 0;
  return Math.min(end - 1, begin + Math.floor(share * (end - begin)));
}

/** Return the time of an event: the middle of its share of the round. Inverse of {@link stepAt}. */
export function timeOf(
  stairs: TreadScale,
  step: number,
  spans: readonly { begin: number; end: number }[],
): number {
  const k = spans.findIndex((s) => step < s.end);
  const tread = stairs.treads[k];
  if (!tread) return stairs.end;
  const { begin, end } = spans[k];
  return tread.from + ((step - begin + 1) / (end - begin)) * (tread.to - tread.from);
}
