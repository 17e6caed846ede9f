// What chance explains of a share of darts. Pure functions.

/**
 * Number of darts from which the piles are shown, and their noise in standard deviations. With
 * four, one of six columns exceeds the noise by chance once in 2 600 throws.
 */
export const PILE = { from: 200, deviations: 4 };

/**
 * Return the noise of a share of `darts` darts around the probability p: {@link PILE} standard
 * deviations, and one dart for the rounding to whole darts.
 */
export const noiseOf = (p: number, darts: number): number =>
  PILE.deviations * Math.sqrt(Math.max(0, p * (1 - p)) / darts) + 1 / darts;

/** Return whether a share of darts differs from p by more than its noise. */
export const isOff = (share: number, p: number, darts: number): boolean =>
  Math.abs(share - p) > noiseOf(p, darts);
