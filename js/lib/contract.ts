// Written by `python -m tools.contract` from hsd_viz/views/contract.py.

/** An emitted token (TokenRow). */
export interface Token {
  id: number;
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
  residual: [number, number][] | null;
  q: [number, number][] | null;
  left: number | null;
}
export type TokenRow = [
  id: number,
  text: string,
  raw: string | null,
  round: number,
  kind: "accepted" | "correction" | "bonus" | "plain",
  source: string,
  path: number[],
  depth: number,
  p: number | null,
  entropy: number | null,
  top: [number, number][] | null,
  residual: [number, number][] | null,
  q: [number, number][] | null,
  left: number | null,
];
export const TOKEN = [
  "id",
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
  "residual",
  "q",
  "left",
] as const;

/** A draft token (DraftRow). */
export interface Draft {
  round: number;
  level: number;
  source: string;
  node: number;
  parent: number;
  depth: number;
  id: number;
  text: string;
  p: number | null;
  q: number | null;
  u: number | null;
  verdict: "accepted" | "rejected" | "unreached" | "cut";
  key: number | null;
  count: number | null;
  score: number | null;
  position: number | null;
  h: number | null;
  recut: string[] | null;
}
export type DraftRow = [
  round: number,
  level: number,
  source: string,
  node: number,
  parent: number,
  depth: number,
  id: number,
  text: string,
  p: number | null,
  q: number | null,
  u: number | null,
  verdict: "accepted" | "rejected" | "unreached" | "cut",
  key: number | null,
  count: number | null,
  score: number | null,
  position: number | null,
  h: number | null,
  recut: string[] | null,
];
export const DRAFT = [
  "round",
  "level",
  "source",
  "node",
  "parent",
  "depth",
  "id",
  "text",
  "p",
  "q",
  "u",
  "verdict",
  "key",
  "count",
  "score",
  "position",
  "h",
  "recut",
] as const;

/** A verification (RoundRow). */
export interface Round {
  id: number;
  parent: number | null;
  level: number;
  drafted: number;
  examined: number;
  accepted: number;
  outcome: "correction" | "bonus" | "plain" | "stopped";
  why: string | null;
  ns: number;
  start: number;
  rule: string;
}
export type RoundRow = [
  id: number,
  parent: number | null,
  level: number,
  drafted: number,
  examined: number,
  accepted: number,
  outcome: "correction" | "bonus" | "plain" | "stopped",
  why: string | null,
  ns: number,
  start: number,
  rule: string,
];
export const ROUND = [
  "id",
  "parent",
  "level",
  "drafted",
  "examined",
  "accepted",
  "outcome",
  "why",
  "ns",
  "start",
  "rule",
] as const;

/** A forward pass, launch or look-up (CallRow). */
export interface Call {
  round: number;
  level: number;
  name: string;
  kind: string;
  steps: number;
  fed: number;
  cached: number;
  start: number;
  ns: number;
}
export type CallRow = [
  round: number,
  level: number,
  name: string,
  kind: string,
  steps: number,
  fed: number,
  cached: number,
  start: number,
  ns: number,
];
export const CALL = [
  "round",
  "level",
  "name",
  "kind",
  "steps",
  "fed",
  "cached",
  "start",
  "ns",
] as const;

/** The stack, the sampling settings, and the times of prefill and of the decode (`None` until known). */
export interface Meta {
  stack: string;
  sampling: Record<string, number | null>;
  prefill_ns: number | null;
  wall_ns: number | null;
}

/** The rows of one or more target rounds; `pieces` are token texts by id. */
export interface Step {
  tokens: TokenRow[];
  drafts: DraftRow[];
  rounds: RoundRow[];
  calls: CallRow[];
  pieces: Record<string, string>;
}

/** A whole run, finished or not: `run` identifies it, `seq` counts its steps so far. */
export interface Snapshot extends Step {
  run: string;
  seq: number;
  prompt: string;
  prompt_ids: number[];
  levels: string[];
  meta: Meta;
}

/** The message with steps `first` to `seq` of a live run. */
export interface Append {
  kind: "append";
  run: string;
  first: number;
  seq: number;
  steps: Step[];
}

/** An event of a target round: its draft is proposed, a draft token gets its verdict, or the round's own token is drawn. `token` indexes the text's token at that position, `shown` counts the tokens emitted after the event. */
export interface Event {
  kind: "draft" | "verdict" | "token";
  round: number;
  token: number;
  shown: number;
  draft: Draft | null;
}

/** A family of sources: label and colours on a light and a dark page. */
export interface Hue {
  label: string;
  light: string;
  dark: string;
}

/** Colours by source family, and the names of baselines and databases. */
export interface PaletteData {
  hues: Record<string, Hue>;
  baselines: string[];
  databases: string[];
}

/** Where a run comes from. */
export interface Origin {
  kind: "recording" | "replay" | "live" | "finished";
  badge: string;
  stack: string;
  facts: string[];
  note: string;
}

/** A metric of a run; `about` defines it. */
export interface Tile {
  label: string;
  value: string;
  unit: string;
  note: string;
  about: string;
}

/** The current stage of a run and the part done, if known. */
export interface Progress {
  text: string;
  done: number | null;
  total: number | null;
}
