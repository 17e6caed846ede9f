// Written by `python -m tools.reference` from hsd_viz/trace/tables.toml.

/** One emitted token. */
export interface Token {
  /** place in the emitted text, from 0 */
  index: number;
  /** the token's id */
  token_id: number;
  /** for display; bytes that form no character are escaped */
  text: string;
  /** the bytes in hexadecimal where they are not whole UTF-8 characters */
  raw: string | null;
  /** id of the target round that emitted it */
  round: number;
  /** how it came into the text */
  kind: "accepted" | "correction" | "bonus" | "plain";
  /** what first proposed it; `target` for the target's own tokens */
  source: string;
  /** levels it passed, from its source's to the target's */
  path: number[];
  /** place in the draft that the target verified, from 1; 0 for the target's own tokens */
  depth: number;
  /** the target's probability at temperature 1 */
  p: number | null;
  /** entropy of the target's distribution at temperature 1 (nats) */
  entropy: number | null;
  /** the five most probable tokens of that distribution */
  top: [number, number][] | null;
  /** of a correction: the five most probable tokens of what it was drawn from */
  residual_top: [number, number][] | null;
  /** of a correction: the five most probable tokens of the draft's q */
  q_top: [number, number][] | null;
  /** of a correction: mass of its distribution before normalization: of max(0, p - q), under block verification of max(0, w p - q), in a tree of point masses of p without the draft tokens */
  residual_sum: number | null;
}

/** One token submitted to a verifier; a token that passes several levels has a row in each of their rounds. */
export interface Draft {
  /** id of the verifier's round */
  round: number;
  /** the verifier's level */
  level: number;
  /** what first proposed it */
  source: string;
  /** number of the token in its round, from 0 */
  node: number;
  /** the node before it on its branch; -1: it follows the text */
  parent: number;
  /** place on its branch, from 1 */
  depth: number;
  /** the token's id */
  token_id: number;
  /** for display */
  text: string;
  /** the verifier's probability, as sampled; null where the node was not examined */
  p: number | null;
  /** the drafter's probability, as sampled; 1 for a point mass */
  q: number | null;
  /** uniform number of the acceptance test; null for point masses */
  u: number | null;
  /** what the verifier decided */
  verdict: "accepted" | "rejected" | "unreached" | "cut";
  /** of a database: tokens matched (tokens) */
  key_length: number | null;
  /** of a database: times seen */
  count: number | null;
  /** of a database: estimated acceptance */
  score: number | null;
  /** place in the text it was copied from; 0: the first prompt token */
  position: number | null;
  /** the threshold of block verification */
  h: number | null;
}

/** One verification by a level: its draft, what it accepted and what it added. */
export interface Round {
  /** number of the round */
  id: number;
  /** round of the level above that requested the tokens; null at the target */
  parent: number | null;
  /** the verifier's level */
  level: number;
  /** draft tokens (nodes) (tokens) */
  drafted: number;
  /** places where draft tokens were compared (tokens) */
  examined: number;
  /** accepted draft tokens (tokens) */
  accepted: number;
  /** the token added; `stopped`: none, at an end token or the limit */
  outcome: "correction" | "bonus" | "plain" | "stopped";
  /** why nothing was drafted */
  why_no_draft: "no match" | "not worth it" | "no room" | "off" | null;
  /** start of drafting (ns) */
  start_ns: number;
  /** drafting and verification (ns) */
  duration_ns: number;
  /** verification rule: that of a chain sampled from rows, else `token` */
  rule: "token" | "block" | "branch";
}

/** One forward pass, launch or look-up. Calls never overlap. */
export interface Call {
  /** the round it served; -1 for prefill */
  round: number;
  /** level of the model or drafter */
  level: number;
  /** name of the model or drafter */
  name: string;
  /** what it did */
  kind: "prefill" | "draft" | "verify" | "lookup" | "update";
  /** forward passes in one launch */
  steps: number;
  /** tokens fed (tokens) */
  fed: number;
  /** tokens already in the KV cache (tokens) */
  cached: number;
  /** start (ns) */
  start_ns: number;
  /** the call's own time (ns) */
  duration_ns: number;
}

/** A table as it travels: a list of values for each column. */
export type Columns<Row> = { [Name in keyof Row]: Row[Name][] };

/** The tables of a step or of a run. */
export interface Tables {
  tokens: Columns<Token>;
  drafts: Columns<Draft>;
  rounds: Columns<Round>;
  calls: Columns<Call>;
}
