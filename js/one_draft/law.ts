// The latency law for one draft model: a token costs (gamma c_draft + c_verify(gamma + 1)) /
// (tokens per round), in forward passes of the target. Pure functions.

/** Parameters of the law: acceptance, and costs of a draft token and of a verified token. */
export interface Costs {
  acceptance: number;
  cost: number;
  slope: number;
}

/** Largest lookahead, and all lookaheads. */
export const MAX_LOOKAHEAD = 16;
export const LOOKAHEADS = Array.from({ length: MAX_LOOKAHEAD }, (_, k) => k + 1);

/** Return the expected number of emitted tokens per round with a draft of n tokens. */
export const tokensOf = (acceptance: number, n: number): number =>
  acceptance >= 1 ? n + 1 : (1 - acceptance ** (n + 1)) / (1 - acceptance);

/** Return the speed-up over plain decoding for lookahead n. */
export const speedOf = (acceptance: number, cost: number, slope: number, n: number): number =>
  tokensOf(acceptance, n) / (n * cost + 1 + slope * n);

/** Return the lookahead with the highest speed-up; the smallest among equals. */
export function bestOf({ acceptance, cost, slope }: Costs): number {
  const speed = (n: number) => speedOf(acceptance, cost, slope, n);
  return LOOKAHEADS.reduce((best, n) => (speed(n) > speed(best) ? n : best));
}

/** Return the smallest whole percentage of acceptance at which drafting pays; undefined: none. */
export function leastAcceptance({ cost, slope }: Costs): number | undefined {
  const percentages = Array.from({ length: 100 }, (_, k) => k);
  return percentages.find((percent) =>
    LOOKAHEADS.some((n) => speedOf(percent / 100, cost, slope, n) > 1),
  );
}
