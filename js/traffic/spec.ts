// Written by `python -m tools.reference` from hsd_viz/views/app/traffic_spec.py.

/** A value with its 95 % interval. */
export interface Measured {
  /** The value. */
  value: number;
  /** The lower end of the interval; ``None``: unknown. */
  low: number | null;
  /** The upper end of the interval; ``None``: unknown. */
  high: number | null;
}

/** A draft length with its predicted value. */
export interface Setting extends Measured {
  /** The number of draft tokens. */
  tokens: number;
  /** Whether it is the setting of the record. */
  present: boolean;
  /** Whether it is the recommended setting. */
  best: boolean;
  /** Whether it exceeds the drafts of the record, so that its acceptance is assumed. */
  assumed: boolean;
}

/** A cause of lost speed-up. */
export interface Loss {
  /** The name of the cause. */
  name: string;
  /** The share of the loss, from 0 to 1. */
  share: number;
  /** The milliseconds per round; ``None``: unknown. */
  ms: number | null;
}

/** A table of a result, with cells as text. */
export interface Table {
  /** The title. */
  title: string;
  /** A remark below the title; "": none. */
  note: string;
  /** The names of the columns. */
  head: string[];
  /** The cells. */
  rows: string[][];
}

/** Settings of an engine to paste. */
export interface Pasted {
  /** The name of the engine, with its version. */
  engine: string;
  /** The settings. */
  text: string;
  /** Whether it is the engine of the record. */
  own: boolean;
}

/** The parts that every result has. */
export interface Said {
  /** The figure of the headline. */
  figure: string;
  /** The words after the figure. */
  words: string;
  /** Further remarks. */
  lines: string[];
  /** Descriptions of the files that were read. */
  sources: string[];
  /** Settings to paste. */
  pasted: Pasted[];
  /** The complete verdict, shown above the tables. */
  verdict: string;
  /** All figures as tables. */
  tables: Table[];
}

/** The diagnosis of a server's record. */
export interface Diagnosis extends Said {
  /** The measure by which draft lengths are compared. */
  measure: string;
  /** The unit of the measure. */
  unit: string;
  /** The compared draft lengths. */
  settings: Setting[];
  /** P(accepted) at position 1, 2, … of the draft. */
  acceptance: number[];
  /** The lost speed-up by cause. */
  losses: Loss[];
  /** The speed-up of free drafts that are all accepted; ``None``: unknown. */
  ideal: number | null;
}

/** The result of a drafter on a log. */
export interface Drafter {
  /** The name of the draft source. */
  name: string;
  /** The tokens per forward pass. */
  tokens: Measured;
  /** The predicted speed-up. */
  speedup: Measured;
  /** Whether the drafter is certainly faster than plain decoding. */
  pays: "yes" | "unclear" | "no";
}

/** The result of a replayed log. */
export interface Replayed extends Said {
  /** The results of the drafters. */
  drafters: Drafter[];
}
