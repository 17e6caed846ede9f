// Types of the traits that the hierarchy gets from Python (hsd_viz/views/single.py).
import type { Hue } from "../lib/palette";

/**
 * A pair of levels: `from` drafts, `to` verifies. `per`: tokens per look-up of a database; null
 * between models.
 */
export interface Edge {
  from: string;
  to: string;
  rate: number;
  per: number | null;
}
export type Colours = Pick<Hue, "light" | "dark">;
export interface Graph {
  /** Databases and models, lowest first. */
  levels: { name: string; ms: number; hues: Colours[] }[];
  edges: Edge[];
  source?: string;
  /** Number of prompts of the calibration; null: unknown. */
  prompts?: number | null;
}
export interface Picked {
  path?: { name: string; lookahead: number | null }[];
  stack: string;
  words: string;
  ms: number;
  length: number;
  over_plain: number;
  /** Measured value of `over_plain`, and the prompts of the measurement; null: not measured. */
  measured_over_plain?: number | null;
  measured_on?: string;
  over_single: number | null;
  single?: string;
}
