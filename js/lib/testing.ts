// Rows and snapshots for tests, as hsd_viz/views/run_data.py writes them.
import { readFileSync } from "node:fs";

/**
 * What tests/js/references.py has: runs with their metrics as Python has them, the state of
 * each view, and the page's facts.
 */
const written: {
  runs: Record<string, any>;
  metrics: Record<string, any>;
  states: Record<string, any[]>;
  about: any;
  stacks: [text: string, printed: string | null][];
  stack_names: Record<string, string>;
  games: any[];
  verdicts: any[];
  one_draft: any[];
} = process.env.HSD_SNAPSHOTS
  ? JSON.parse(readFileSync(process.env.HSD_SNAPSHOTS, "utf8"))
  : {
      runs: {},
      metrics: {},
      states: {},
      about: null,
      stacks: [],
      stack_names: {},
      games: [],
      verdicts: [],
      one_draft: [],
    };
/** The recorded runs by name, and their metrics. */
export const RECORDED = Object.fromEntries(
  Object.entries(written.runs).filter(([name]) => name !== "made"),
);
export const METRICS = written.metrics;
/** The states of the public views by the name of their script. */
export const STATES = written.states;
/** What the page knows at first. */
export const ABOUT = written.about;
/** The texts of the game, with their recorded runs by the player. */
export const GAMES = written.games;
/** Verdicts of the rules in Python. */
export const VERDICTS = written.verdicts;
/** Speeds of one draft model by the law in Python. */
export const ONE_DRAFT = written.one_draft;
/** Texts, and how Python prints the stack; null: it is not one. */
export const STACKS = written.stacks;
/** Names of stacks in Python, by stack. */
export const STACK_NAMES = written.stack_names;

/**
 * A widget's model without a kernel: `sent` are its messages, `fire` calls the listeners of an
 * event.
 */
export function modelOf(state: Record<string, any>): any {
  const handlers = new Map<string, Set<(...args: any[]) => void>>();
  const names = (events: string) => events.split(" ");
  const model = {
    sent: [] as any[],
    get: (name: string) => state[name],
    set(name: string, value: any) {
      state[name] = value;
      model.fire(`change:${name}`);
      model.fire("change");
    },
    save_changes() {},
    send(message: any) {
      model.sent.push(message);
    },
    on(events: string, handler: () => void) {
      for (const event of names(events))
        handlers.set(event, (handlers.get(event) ?? new Set()).add(handler));
    },
    off(events: string, handler: () => void) {
      for (const event of names(events)) handlers.get(event)?.delete(handler);
    },
    fire(event: string, ...args: any[]) {
      for (const handler of [...(handlers.get(event) ?? [])]) handler(...args);
    },
    /** The number of handlers. */
    heard: () => [...handlers.values()].reduce((sum, set) => sum + set.size, 0),
  };
  return model;
}
export const token = (
  round: number,
  kind: string,
  { text = "x", source = kind === "accepted" ? "nano" : "target", depth = 0, id = 1 } = {},
) => ({
  token_id: id,
  text,
  raw: null,
  round,
  kind,
  source,
  path: [0],
  depth,
  p: 0.5,
  entropy: 1,
  ...NO_TOPS,
});
const NO_TOPS = { top: null, residual_top: null, q_top: null, residual_sum: null };
export const draft = (
  round: number,
  node: number,
  depth: number,
  verdict: string,
  { text = "x", source = "nano", id = 1, parent = node - 1, level = 1 } = {},
) => ({
  round,
  level,
  source,
  node,
  parent,
  depth,
  token_id: id,
  text,
  p: 0.5,
  q: 0.5,
  u: 0.5,
  verdict,
  key_length: null,
  count: null,
  score: null,
  position: null,
});
export const round = (
  id: number,
  {
    parent = null as number | null,
    level = 1,
    ns = 4_000_000,
    outcome = "correction",
    why = null as string | null,
  } = {},
) => ({
  id,
  parent,
  level,
  drafted: 0,
  examined: 0,
  accepted: 0,
  outcome,
  why_no_draft: why,
  start_ns: id * ns,
  duration_ns: ns,
});
/** Rows as a table travels. */
export const columns = (rows: any[]): any =>
  Object.fromEntries(
    Object.keys(rows[0] ?? {}).map((name) => [name, rows.map((row) => row[name])]),
  );
/** A step or a part of a snapshot: its tables are given as rows. */
export const tables = ({
  tokens = [],
  drafts = [],
  rounds = [],
  calls = [],
  ...rest
}: any = {}) => ({
  tokens: columns(tokens),
  drafts: columns(drafts),
  rounds: columns(rounds),
  calls: columns(calls),
  pieces: {},
  ...rest,
});
export const snapshot = (rows: any, run = "r", seq = 1) => ({
  run,
  seq,
  prompt: "p",
  prompt_ids: [9],
  levels: ["nano", "target"],
  meta: {},
  ...tables(rows),
});

/**
 * Two rounds: one of a chain of three whose second is refused, served by a round of the level
 * below; one without a draft.
 */
export const SMALL = {
  rounds: [
    round(1, { parent: 2, level: 0 }),
    round(2),
    round(3, { outcome: "plain", why: "no match" }),
  ],
  drafts: [
    draft(1, 0, 1, "accepted", { level: 0 }),
    draft(2, 0, 1, "accepted"),
    draft(2, 1, 2, "rejected"),
    draft(2, 2, 3, "unreached"),
  ],
  tokens: [token(2, "accepted", { depth: 1 }), token(2, "correction"), token(3, "plain")],
};
export const small = () => snapshot(SMALL);
