// What the views of the visitor's traffic get from Python (hsd_viz/views/app/traffic.py).

/** A value with its 95 % interval; null: it has none. */
export interface Measured {
  value: number;
  low: number | null;
  high: number | null;
}
/** A number of draft tokens, and what it brings. */
export interface Setting extends Measured {
  tokens: number;
  /** The setting of the record, the one to use, and one beyond the drafts that were seen. */
  present: boolean;
  best: boolean;
  assumed: boolean;
}
/** A cause, its share of what is lost, and its milliseconds per round; null: unknown. */
export interface Loss {
  name: string;
  share: number;
  ms: number | null;
}
/** A table of a result, its cells as text. */
export interface Table {
  title: string;
  note: string;
  head: string[];
  rows: string[][];
}
/** Settings of an engine to paste; `own`: of the engine of the record. */
export interface Pasted {
  engine: string;
  text: string;
  own: boolean;
}
/** What is known of every result. */
interface Said {
  /** Its headline: a figure and what it is of. */
  figure: string;
  words: string;
  /** What else a reader must know; and what was read. */
  lines: string[];
  sources: string[];
  pasted: Pasted[];
  /** The whole verdict, above the tables. */
  verdict: string;
  tables: Table[];
}
export interface Diagnosis extends Said {
  /** What the settings are compared by, and its unit. */
  measure: string;
  unit: string;
  settings: Setting[];
  /** P(accepted) at position 1, 2, … of the draft. */
  acceptance: number[];
  losses: Loss[];
  /** The speed-up of drafts that are all accepted and cost nothing; null: unknown. */
  ideal: number | null;
}
/** A drafter on a log. */
export interface Drafter {
  name: string;
  tokens: Measured;
  speedup: Measured;
  /** "yes", "no", or that it is not certain. */
  pays: string;
}
export interface Replayed extends Said {
  drafters: Drafter[];
}
