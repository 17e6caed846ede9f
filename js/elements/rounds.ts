// A run from counts alone: how many tokens each round drafted and accepted, as any engine can
// report them. Pure.
import type { Meta, Snapshot } from "../lib/run_data";
import type { Columns } from "../lib/tables";

export interface RoundCounts {
  drafted: number;
  accepted: number;
  /** What the round took; a run in which one is missing has rounds of one width. */
  milliseconds?: number;
}
export interface RoundsAbout {
  /** What identifies the run. */
  name?: string;
  /** The words at the end of its staircase. */
  title?: string;
}

/**
 * The placeholders of an emitted token, and of a draft token that was not: nothing says which they
 * were.
 */
const EMITTED = { token_id: 0, text: "·" };
const DROPPED = { token_id: 1, text: "×" };
const SOURCE = "draft";

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0;

/** Throws an error with a one-line message if a round is not possible. */
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

/** What counts say nothing of: of a draft token, and of an emitted one. */
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

/** The verdict on the draft token at a place. */
function verdictOf(place: number, accepted: number) {
  if (place < accepted) return "accepted";
  return place === accepted ? "rejected" : "unreached";
}

/** The draft rows of a round. */
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

/** The tokens that a round emits, the first of which is at place `first` of the text. */
function tokensOf(round: number, counts: RoundCounts, first: number) {
  const drafted = Array.from({ length: counts.accepted }, (_, k) => ({
    kind: "accepted",
    source: SOURCE,
    path: [0, 1],
    depth: k + 1,
  }));
  const own = { kind: outcomeOf(counts), source: "target", path: [1], depth: 0 };
  return [...drafted, own].map((token, k) => ({
    index: first + k,
    ...EMITTED,
    ...UNSEEN,
    round,
    ...token,
  }));
}

/** Nanoseconds of a round. */
const timeOf = ({ milliseconds = 0 }: RoundCounts) => Math.round(milliseconds * 1e6);

/** The row of a round that starts at `start_ns`; null: times are not known. */
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

/** The meta of a run that takes so long; null: times are not known. */
const metaOf = (stack: string, wall_ns: number | null): Meta => ({
  stack,
  asked: stack,
  sampling: {},
  // Runs by their counts are compared as runs of one target.
  models: [{ name: "target", weights: "" }],
  prefill_ns: wall_ns === null ? null : 0,
  wall_ns,
});

/**
 * The run: each round emits the accepted draft tokens and one token of the target. Throws if a
 * round is not possible.
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
  let now = 0;
  for (const [id, counts] of rounds.entries()) {
    drafts.push(...draftsOf(id, counts));
    tokens.push(...tokensOf(id, counts, tokens.length));
    rows.push(roundOf(id, counts, isTimed ? now : null));
    now += timeOf(counts);
  }
  const snapshot = {
    run: name,
    seq: 1,
    prompt: "",
    prompt_ids: [],
    levels: [SOURCE, "target"],
    meta: metaOf(title || "these rounds", isTimed ? now : null),
    pieces: { 0: EMITTED.text, 1: DROPPED.text },
    tokens: columnsOf(tokens),
    drafts: columnsOf(drafts),
    rounds: columnsOf(rows),
    calls: {},
  };
  return snapshot as unknown as Snapshot;
}
