// Builds a run from counts of drafted and accepted tokens per round, which any engine can report.
// Pure functions.
import type { Meta, Snapshot } from "../lib/run_data";
import type { Columns } from "../lib/tables";

export interface RoundCounts {
  drafted: number;
  accepted: number;
  /** Duration of the round. If it is missing in any round, all rounds are equally wide. */
  milliseconds?: number;
}
export interface RoundsAbout {
  /** Identifier of the run. */
  name?: string;
  /** Label at the end of its staircase. */
  title?: string;
}

/** Placeholders for emitted tokens and for draft tokens not emitted, which are unknown. */
const EMITTED = { token_id: 0, text: "·" };
const DROPPED = { token_id: 1, text: "×" };
const SOURCE = "draft";

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;

/** Throw a one-line error if the counts of a round are impossible. */
function check(rounds: readonly RoundCounts[]) {
  if (!Array.isArray(rounds) || !rounds.length)
    throw new Error("rounds is a list of {drafted, accepted}");
  for (const [k, round] of rounds.entries()) {
    const { drafted, accepted, milliseconds } = round ?? {};
    if (!isCount(drafted) || !isCount(accepted))
      throw new Error(
        `round ${k + 1} needs whole numbers drafted and accepted: ` +
          `it has ${drafted} and ${accepted}`,
      );
    if (accepted > drafted)
      throw new Error(`round ${k + 1} accepts ${accepted} of ${drafted} draft tokens`);
    if (milliseconds !== undefined && !(Number.isFinite(milliseconds) && milliseconds > 0))
      throw new Error(`round ${k + 1} took ${milliseconds} ms: expected a number above 0`);
  }
}

const columnsOf = <Row extends object>(rows: readonly Row[]): Columns<Row> =>
  Object.fromEntries(
    Object.keys(rows[0] ?? {}).map((name) => [name, rows.map((row) => row[name as keyof Row])]),
  ) as Columns<Row>;

/** Columns of draft tokens, and of emitted tokens, that counts do not determine. */
const UNKNOWN = {
  p: null,
  q: null,
  u: null,
  h: null,
  key_length: null,
  count: null,
  score: null,
  position: null,
};
const UNSEEN = {
  raw: null,
  p: null,
  entropy: null,
  top: null,
  residual_top: null,
  q_top: null,
  residual_sum: null,
};

function outcomeOf({ drafted, accepted }: RoundCounts) {
  if (!drafted) return "plain";
  return accepted < drafted ? "correction" : "bonus";
}

/** Return the verdict on the draft token at a position of the draft. */
function verdictOf(place: number, accepted: number) {
  if (place < accepted) return "accepted";
  return place === accepted ? "rejected" : "unreached";
}

/** Return the draft rows of a round. */
const draftsOf = (round: number, { drafted, accepted }: RoundCounts) =>
  Array.from({ length: drafted }, (_, node) => ({
    round,
    level: 1,
    source: SOURCE,
    node,
    parent: node - 1,
    depth: node + 1,
    ...(node < accepted ? EMITTED : DROPPED),
    ...UNKNOWN,
    verdict: verdictOf(node, accepted),
  }));

/** Return the rows of the tokens that a round emits; `first` is the position of the first one. */
function tokensOf(round: number, counts: RoundCounts, first: number) {
  const drafted = Array.from({ length: counts.accepted }, (_, k) => ({
    kind: "accepted",
    source: SOURCE,
    path: [0, 1],
    depth: k + 1,
  }));
  const ownToken = { kind: outcomeOf(counts), source: "target", path: [1], depth: 0 };
  return [...drafted, ownToken].map((token, k) => ({
    index: first + k,
    ...EMITTED,
    ...UNSEEN,
    round,
    ...token,
  }));
}

/** Return the duration of a round in nanoseconds. */
const timeOf = ({ milliseconds = 0 }: RoundCounts) => Math.round(milliseconds * 1e6);

/** Return the row of a round that starts at `start_ns`; null: times are unknown. */
const roundOf = (id: number, counts: RoundCounts, start_ns: number | null) => ({
  id,
  parent: null,
  level: 1,
  drafted: counts.drafted,
  examined: Math.min(counts.drafted, counts.accepted + 1),
  accepted: counts.accepted,
  outcome: outcomeOf(counts),
  why_no_draft: counts.drafted ? null : "no match",
  start_ns,
  duration_ns: start_ns === null ? null : timeOf(counts),
  rule: "token",
});

/** Return the meta of a run of this duration; null: times are unknown. */
const metaOf = (stack: string, wall_ns: number | null): Meta => ({
  stack,
  asked: stack,
  sampling: {},
  // The same target for all, so that runs built from counts can be compared.
  models: [{ name: "target", weights: "" }],
  prefill_ns: wall_ns === null ? null : 0,
  wall_ns,
});

/**
 * Return a run in which each round emits its accepted draft tokens and one token of the target.
 * Throws a one-line error if the counts of a round are impossible.
 */
export function runOfRounds(
  rounds: readonly RoundCounts[],
  { name = "rounds", title = "" }: RoundsAbout = {},
): Snapshot {
  check(rounds);
  const isTimed = rounds.every(({ milliseconds }) => milliseconds !== undefined);
  const tokens: object[] = [];
  const drafts: object[] = [];
  const rows: object[] = [];
  let clock = 0;
  for (const [id, counts] of rounds.entries()) {
    drafts.push(...draftsOf(id, counts));
    tokens.push(...tokensOf(id, counts, tokens.length));
    rows.push(roundOf(id, counts, isTimed ? clock : null));
    clock += timeOf(counts);
  }
  const snapshot = {
    run: name,
    seq: 1,
    prompt: "",
    prompt_ids: [],
    levels: [SOURCE, "target"],
    meta: metaOf(title || "these rounds", isTimed ? clock : null),
    pieces: { 0: EMITTED.text, 1: DROPPED.text },
    tokens: columnsOf(tokens),
    drafts: columnsOf(drafts),
    rounds: columnsOf(rows),
    calls: {},
  };
  return snapshot as unknown as Snapshot;
}
