// Written by `python -m tools.reference` from hsd_viz/views/app/traffic_spec.py.

/** A value with its 95 % interval. */
export interface Measured {
  /** The value. */
  value: number;
  /** The lower end, if known. */
  low: number | null;
  /** The upper end. */
  high: number | null;
}

/** A number of draft tokens, and what it brings. */
export interface Setting extends Measured {
  /** Draft tokens. */
  tokens: number;
  /** Whether it is the setting of the record. */
  present: boolean;
  /** Whether it is the one to use. */
  best: boolean;
  /** Whether it is beyond the drafts that were seen. */
  assumed: boolean;
}

/** A cause of loss. */
export interface Loss {
  /** The cause. */
  name: string;
  /** Its share of what is lost. */
  share: number;
  /** Its milliseconds per round, if known. */
  ms: number | null;
}

/** A table of a result, its cells as text. */
export interface Table {
  /** What the rows are. */
  title: string;
  /** A remark under the title, "" without one. */
  note: string;
  /** The names of the columns. */
  head: string[];
  /** The cells. */
  rows: string[][];
}

/** Settings of an engine to paste. */
export interface Pasted {
  /** The engine, with its version. */
  engine: string;
  /** The settings. */
  text: string;
  /** Whether it is the engine of the record. */
  own: boolean;
}

/** What is known of every result. */
export interface Said {
  /** The figure of the headline. */
  figure: string;
  /** What it is of. */
  words: string;
  /** What else a reader must know. */
  lines: string[];
  /** What was read. */
  sources: string[];
  /** Settings to paste. */
  pasted: Pasted[];
  /** The whole verdict, above the tables. */
  verdict: string;
  /** All figures. */
  tables: Table[];
}

/** A server's record, diagnosed. */
export interface Diagnosis extends Said {
  /** What the settings are compared by. */
  measure: string;
  /** Its unit. */
  unit: string;
  /** The draft lengths that are compared. */
  settings: Setting[];
  /** P(accepted) at position 1, 2, … of the draft. */
  acceptance: number[];
  /** What is lost, by cause. */
  losses: Loss[];
  /** The speed-up of drafts that are all accepted and cost nothing, if known. */
  ideal: number | null;
}

/** A drafter on a log. */
export interface Drafter {
  /** The draft source. */
  name: string;
  /** Tokens per forward pass. */
  tokens: Measured;
  /** The predicted speed-up. */
  speedup: Measured;
  /** Whether it certainly is faster than plain decoding. */
  pays: "yes" | "unclear" | "no";
}

/** A replayed log. */
export interface Replayed extends Said {
  /** What each drafter would have brought. */
  drafters: Drafter[];
}
