// The format in which runs are sent, stored and saved: hsd_viz/views/run_data.py. Pure functions.
import type { SettingName } from "./options";
import type { Seed } from "./seed";
import type { Columns, Tables } from "./tables";

type Numbers = Record<Exclude<SettingName, "max_new_tokens" | "seed">, number | null>;
export type Sampling = Partial<Numbers> & { seed?: Seed | null; rule?: string };
type Texts =
  | "family"
  | "device"
  | "device_name"
  | "dtype"
  | "runtime"
  | "runtime_note"
  | "created"
  | "clock"
  | "stop_reason";
type Counts = "threads" | "fastest_of" | "max_new_tokens";
/**
 * The meta fields of a trace that views read. The durations of prefill and decode, in nanoseconds,
 * are null during the run.
 */
export interface Meta
  extends Partial<Record<Texts, string | null> & Record<Counts, number | null>> {
  /** The stack as decoded. */
  stack: string;
  /** The stack as written. */
  asked?: string;
  sampling: Sampling;
  prefill_ns: number | null;
  wall_ns: number | null;
  /** Plain decoding measured with the run: its speed, and the speed-ups of repeated pairs. */
  plain?: {
    tokens_per_second?: number;
    speedups?: number[];
    load_average?: number;
    cores?: number;
  } | null;
  models?: {
    name: string;
    model?: string;
    weights?: string | null;
    parameters?: number | null;
  }[];
  chat?: boolean;
  /** Whether times are modelled: each pass takes as long as recorded ones over as many tokens. */
  modelled?: boolean;
  /** The run that this one continues: at output position `token`, with `text` instead. */
  parent?: { run: string; token: number; text: string } | null;
  cancelled?: boolean;
  /** The description of a verification rule of another package, in its own words. */
  rule_words?: string;
  /** The engine that served the request of an imported run. */
  imported?: { engine: string };
}
/** The tables of one or more target rounds; `pieces` are token texts by id. */
export interface Step extends Tables {
  pieces: Record<string, string>;
}
/** A run without its steps: `run` is its id, `seq` the number of steps so far. */
export interface Head {
  run: string;
  seq: number;
  prompt: string;
  prompt_ids: number[];
  levels: string[];
  meta: Meta;
}
/** A run with its steps, finished or in progress. */
export interface Snapshot extends Head, Step {}
/** A message with steps `first` to `seq` of a live run. */
export interface Append {
  kind: "append";
  run: string;
  first: number;
  seq: number;
  steps: Step[];
}
/** Return the head of a run. */
export const headOf = ({ run, seq, prompt, prompt_ids, levels, meta }: Head): Head => ({
  run,
  seq,
  prompt,
  prompt_ids,
  levels,
  meta,
});

const TABLES = ["tokens", "drafts", "rounds", "calls"] as const;

/** Build all tables from functions of their columns; the schema guarantees the types. */
export const tablesFrom = (columnsOf: (table: keyof Tables) => Record<string, unknown[]>): Tables =>
  Object.fromEntries(TABLES.map((table) => [table, columnsOf(table)])) as unknown as Tables;

/** Concatenate the columns of several steps. */
export function joined(steps: readonly Step[]): Step {
  const tables = tablesFrom((table) => {
    const parts = steps.map((step) => step[table] as Record<string, unknown[]>);
    const names = new Set(parts.flatMap(Object.keys));
    return Object.fromEntries(
      [...names].map((name) => [name, parts.flatMap((part) => part[name] ?? [])]),
    );
  });
  return { ...tables, pieces: Object.assign({}, ...steps.map((step) => step.pieces)) };
}

/** Convert the columns of a table to rows. */
export function rowsOf<Row>(columns: Columns<Row>): Row[] {
  const entries = Object.entries(columns) as [string, unknown[]][];
  return (entries[0]?.[1] ?? []).map(
    (_, k) => Object.fromEntries(entries.map(([name, values]) => [name, values[k]])) as Row,
  );
}
