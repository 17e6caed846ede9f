// A run from counts alone: how many tokens each round drafted and accepted, as any engine can
// report them. Pure.
import type { Meta, Snapshot } from "../lib/run";
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
  const unknown = {
    p: null,
    q: null,
    u: null,
    h: null,
    key_length: null,
    count: null,
    score: null,
    position: null,
  };
  const unseen = {
    raw: null,
    p: null,
    entropy: null,
    top: null,
    residual_top: null,
    q_top: null,
    residual_sum: null,
  };
  const tokens: object[] = [];
  const drafts: object[] = [];
  const rows: object[] = [];
  let now = 0;
  for (const [id, { drafted, accepted, milliseconds = 0 }] of rounds.entries()) {
    const own = accepted < drafted ? "correction" : "bonus";
    const outcome = drafted ? own : "plain";
    for (let k = 0; k < drafted; k++) {
      const refused = k === accepted ? "rejected" : "unreached";
      const verdict = k < accepted ? "accepted" : refused;
      const token = k < accepted ? EMITTED : DROPPED;
      const place = { round: id, level: 1, source: SOURCE, node: k, parent: k - 1, depth: k + 1 };
      drafts.push({ ...place, ...token, ...unknown, verdict });
    }
    for (let k = 0; k <= accepted; k++) {
      const isDraft = k < accepted;
      const from = isDraft
        ? { kind: "accepted", source: SOURCE, path: [0, 1] }
        : { kind: outcome, source: "target", path: [1] };
      tokens.push({
        index: tokens.length,
        ...EMITTED,
        ...unseen,
        round: id,
        ...from,
        depth: isDraft ? k + 1 : 0,
      });
    }
    const duration = Math.round(milliseconds * 1e6);
    const times = isTimed
      ? { start_ns: now, duration_ns: duration }
      : { start_ns: null, duration_ns: null };
    const examined = Math.min(drafted, accepted + 1);
    const why_no_draft = drafted ? null : "no match";
    rows.push({
      id,
      parent: null,
      level: 1,
      drafted,
      examined,
      accepted,
      outcome,
      why_no_draft,
      ...times,
      rule: "token",
    });
    now += duration;
  }
  const stack = title || "these rounds";
  const meta: Meta = {
    stack,
    asked: stack,
    sampling: {},
    // Runs by their counts are compared as runs of one target.
    models: [{ name: "target", weights: "" }],
    prefill_ns: isTimed ? 0 : null,
    wall_ns: isTimed ? now : null,
  };
  const snapshot = {
    run: name,
    seq: 1,
    prompt: "",
    prompt_ids: [],
    levels: [SOURCE, "target"],
    meta,
    pieces: { 0: EMITTED.text, 1: DROPPED.text },
    tokens: columnsOf(tokens),
    drafts: columnsOf(drafts),
    rounds: columnsOf(rows),
    calls: {},
  };
  return snapshot as unknown as Snapshot;
}
