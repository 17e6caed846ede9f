// What the hierarchy gets from Python (hsd_viz/views/single.py).
import type { Hue } from "../lib/palette";

/**
 * From a level to the one that verifies it; `per`: tokens per look-up of a database, null between
 * models.
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
  /** The prompts that it was calibrated on; null: unknown. */
  prompts?: number | null;
}
export interface Picked {
  path?: { name: string; lookahead: number | null }[];
  stack: string;
  words: string;
  ms: number;
  length: number;
  over_plain: number;
  /** The same as it was measured, and on which prompts; null: it was not. */
  measured_over_plain?: number | null;
  measured_on?: string;
  over_single: number | null;
  single?: string;
}
