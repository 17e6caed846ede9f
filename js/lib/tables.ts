// Written by `python -m tools.reference` from hsd_viz/trace/tables.toml, which has the meanings.

/** One emitted token. */
export interface Token {
  index: number;
  token_id: number;
  text: string;
  raw: string | null;
  round: number;
  kind: "accepted" | "correction" | "bonus" | "plain";
  source: string;
  path: number[];
  depth: number;
  p: number | null;
  entropy: number | null;
  top: [number, number][] | null;
  residual_top: [number, number][] | null;
  q_top: [number, number][] | null;
  residual_sum: number | null;
}

/**
 * One token submitted to a verifier; a token that passes several levels has a row in each of their
 * rounds.
 */
export interface Draft {
  round: number;
  level: number;
  source: string;
  node: number;
  parent: number;
  depth: number;
  token_id: number;
  text: string;
  p: number | null;
  q: number | null;
  u: number | null;
  verdict: "accepted" | "rejected" | "unreached" | "cut";
  key_length: number | null;
  count: number | null;
  score: number | null;
  position: number | null;
  h: number | null;
  cosine: number | null;
}

/** One verification by a level: its draft, what it accepted and what it added. */
export interface Round {
  id: number;
  parent: number | null;
  level: number;
  drafted: number;
  examined: number;
  accepted: number;
  outcome: "correction" | "bonus" | "plain" | "stopped";
  why_no_draft: "no match" | "not worth it" | "no room" | "off" | null;
  start_ns: number;
  duration_ns: number;
  rule: "token" | "block" | "branch";
  draft_end: "length" | "confidence" | "eos" | "limit" | null;
}

/** One forward pass, launch or look-up. Calls never overlap. */
export interface Call {
  round: number;
  level: number;
  name: string;
  kind: "prefill" | "draft" | "verify" | "lookup" | "update";
  steps: number;
  fed: number;
  cached: number;
  start_ns: number;
  duration_ns: number;
}

/** The columns of each table, in their order. */
export const COLUMNS = {
  tokens: [
    "index",
    "token_id",
    "text",
    "raw",
    "round",
    "kind",
    "source",
    "path",
    "depth",
    "p",
    "entropy",
    "top",
    "residual_top",
    "q_top",
    "residual_sum",
  ],
  drafts: [
    "round",
    "level",
    "source",
    "node",
    "parent",
    "depth",
    "token_id",
    "text",
    "p",
    "q",
    "u",
    "verdict",
    "key_length",
    "count",
    "score",
    "position",
    "h",
    "cosine",
  ],
  rounds: [
    "id",
    "parent",
    "level",
    "drafted",
    "examined",
    "accepted",
    "outcome",
    "why_no_draft",
    "start_ns",
    "duration_ns",
    "rule",
    "draft_end",
  ],
  calls: [
    "round",
    "level",
    "name",
    "kind",
    "steps",
    "fed",
    "cached",
    "start_ns",
    "duration_ns",
  ],
} as const;

/** A table as it travels: a list of values for each column. */
export type Columns<Row> = { [Name in keyof Row]: Row[Name][] };

/** The tables of a step or of a run. */
export interface Tables {
  tokens: Columns<Token>;
  drafts: Columns<Draft>;
  rounds: Columns<Round>;
  calls: Columns<Call>;
}
