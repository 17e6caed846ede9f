// The law of one draft, by hand: (gamma c_draft + c_verify(gamma + 1)) over the tokens of a round,
// in forward passes of the target. Pure.

/** The settings of the law: acceptance, and costs of a draft token and of a verified one. */
export interface Costs {
  acceptance: number;
  cost: number;
  slope: number;
}

/** The longest lookahead, and all of them. */
export const MOST = 16;
export const LOOKAHEADS = Array.from({ length: MOST }, (_, k) => k + 1);

/** Emitted tokens per round of a draft of n tokens. */
export const tokensOf = (acceptance: number, n: number): number =>
  acceptance >= 1 ? n + 1 : (1 - acceptance ** (n + 1)) / (1 - acceptance);

/** Speed over plain decoding for a lookahead. */
export const speedOf = (acceptance: number, cost: number, slope: number, n: number): number =>
  tokensOf(acceptance, n) / (n * cost + 1 + slope * n);

/** The lookahead of the highest speed; the shortest of equals. */
export function bestOf({ acceptance, cost, slope }: Costs): number {
  const speed = (n: number) => speedOf(acceptance, cost, slope, n);
  return LOOKAHEADS.reduce((best, n) => (speed(n) > speed(best) ? n : best));
}

/** The least whole percentage of acceptance from which a draft pays off; undefined: none. */
export function leastAcceptance({ cost, slope }: Costs): number | undefined {
  const percentages = Array.from({ length: 100 }, (_, k) => k);
  return percentages.find((percent) =>
    LOOKAHEADS.some((n) => speedOf(percent / 100, cost, slope, n) > 1),
  );
}
