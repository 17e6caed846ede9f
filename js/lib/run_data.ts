// A run as it is sent, kept and saved: hsd_viz/views/run_data.py. Pure.
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
 * The meta of a trace that views read; the times (ns) of prefill and of the decode are null during
 * the run.
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
  /** Plain decoding measured beside the run: its speed, and the speed-ups of repeated pairs. */
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
  /** Times are not those of this run: its passes cost what recorded ones over as many tokens do. */
  modelled?: boolean;
  /** The run that this one continues, from a place of its text with another token. */
  parent?: { run: string; token: number; text: string } | null;
  cancelled?: boolean;
  /** How a verification rule of another package describes itself. */
  rule_words?: string;
  /** Of a request that an engine served: the engine. */
  imported?: { engine: string };
}
/** The tables of one or more target rounds; `pieces` are token texts by id. */
export interface Step extends Tables {
  pieces: Record<string, string>;
}
/** What a run is: `run` identifies it, `seq` counts its steps so far. */
export interface Head {
  run: string;
  seq: number;
  prompt: string;
  prompt_ids: number[];
  levels: string[];
  meta: Meta;
}
/** A whole run, finished or not. */
export interface Snapshot extends Head, Step {}
/** The message with steps `first` to `seq` of a live run. */
export interface Append {
  kind: "append";
  run: string;
  first: number;
  seq: number;
  steps: Step[];
}
/** A run without its steps. */
export const headOf = ({ run, seq, prompt, prompt_ids, levels, meta }: Head): Head => ({
  run,
  seq,
  prompt,
  prompt_ids,
  levels,
  meta,
});

const TABLES = ["tokens", "drafts", "rounds", "calls"] as const;

/** All tables by their columns, which are those of the schema: here they get their types. */
export const tablesFrom = (columnsOf: (table: keyof Tables) => Record<string, unknown[]>): Tables =>
  Object.fromEntries(TABLES.map((table) => [table, columnsOf(table)])) as unknown as Tables;

/** The columns of several steps as those of one. */
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

/** The rows of a table, which arrives as columns. */
export function rowsOf<Row>(columns: Columns<Row>): Row[] {
  const named = Object.entries(columns) as [string, unknown[]][];
  return (named[0]?.[1] ?? []).map(
    (_, k) => Object.fromEntries(named.map(([name, values]) => [name, values[k]])) as Row,
  );
}
