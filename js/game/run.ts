// The visitor's game as a run: every view of the explorer opens on it as on a recording. Pure.

import { YOU } from "../lib/palette";
import type { Meta, Snapshot, Store } from "../lib/run";
import type { Call, Columns, Draft, Round, Token } from "../lib/tables";
import { costOf, type Price } from "./score";
import { bare, type Glance } from "./words";

/** A glance of the game: its place in the text, the words that were written, and their results. */
export interface Played extends Glance {
  at: number;
  words: string[];
}

const columns = <Row>(rows: readonly Row[], like: readonly string[]): Columns<Row> =>
  Object.fromEntries(
    like.map((name) => [name, rows.map((row) => row[name as keyof Row])]),
  ) as Columns<Row>;
const NAMES = {
  tokens:
    "index token_id text raw round kind source " +
    "path depth p entropy top residual_top q_top residual_sum",
  drafts:
    "round level source node parent depth token_id text " +
    "p q u verdict key_length count score position h",
  rounds:
    "id parent level drafted examined accepted " +
    "outcome why_no_draft start_ns duration_ns rule draft_end",
  calls: "round level name kind steps fed cached start_ns duration_ns",
};
const named = (table: keyof typeof NAMES) => NAMES[table].split(" ");
/** The id of a word that is not a single token of the model. */
const NO_ID = -1;

/**
 * The run of a played text: its prompt is the recording's with the text that was given. Times are
 * those of recorded passes over as many tokens (score.ts); the visitor's own time is not counted.
 */
export function runOf(
  store: Store,
  given: number,
  glances: readonly Played[],
  price: Price,
): Snapshot {
  const tokens: Token[] = [];
  const drafts: Draft[] = [];
  const rounds: Round[] = [];
  const calls: Call[] = [];
  const pieces: Record<string, string> = { ...store.pieces };
  let now = 0;
  for (const [id, glance] of glances.entries()) {
    const duration_ns = Math.round(costOf({ tokens: 0, width: glance.width, drafting: 0 }, price));
    const read = store.tokens.slice(glance.at, glance.own);
    const own = store.tokens[glance.own];
    const common = { round: id, level: 1, source: YOU, q: 1, u: null, h: null };
    const unknown = { key_length: null, count: null, score: null, position: null, cosine: null };
    const draft = (
      node: number,
      token: Pick<Draft, "token_id" | "text" | "p" | "verdict">,
    ): Draft => ({
      ...common,
      ...unknown,
      ...token,
      node,
      parent: node - 1,
      depth: node + 1,
    });
    for (const [node, { token_id, text }] of read.entries())
      drafts.push(draft(node, { token_id, text, p: 1, verdict: "accepted" }));
    const wrong = glance.words.filter((_, k) => glance.fates[k] !== "accepted");
    for (const [k, word] of wrong.entries()) {
      const known = Object.entries(store.pieces).find(
        ([, text]) => bare(text) === bare(word) && text.startsWith(" "),
      );
      const token_id = known ? Number(known[0]) : NO_ID - drafts.length;
      const verdict = k ? "unreached" : "rejected";
      const p = k ? null : 0;
      pieces[token_id] = ` ${word}`;
      drafts.push(draft(read.length + k, { token_id, text: ` ${word}`, p, verdict }));
    }
    const drafted = read.length + wrong.length;
    let outcome: Round["outcome"] = "bonus";
    if (wrong.length) outcome = "correction";
    else if (!drafted) outcome = "plain";
    const kinds: Token["kind"] = outcome === "plain" ? "plain" : outcome;
    for (const [k, token] of read.entries())
      tokens.push({
        ...token,
        index: tokens.length,
        round: id,
        kind: "accepted",
        source: YOU,
        path: [0, 1],
        depth: k + 1,
      });
    if (own)
      tokens.push({
        ...own,
        index: tokens.length,
        round: id,
        kind: kinds,
        source: "target",
        path: [1],
        depth: 0,
      });
    const examined = read.length + (wrong.length ? 1 : 0);
    const counts = { drafted, examined, accepted: read.length };
    const why = drafted ? null : ("no match" as const);
    const timing = { start_ns: now, duration_ns };
    rounds.push({
      id,
      parent: null,
      level: 1,
      ...counts,
      outcome,
      why_no_draft: why,
      ...timing,
      rule: "token",
      draft_end: null,
    });
    const cached = store.promptIds.length + glance.at;
    const place = {
      round: id,
      level: 1,
      name: "target",
      kind: "verify" as const,
      steps: 1,
      fed: glance.width,
      cached,
    };
    calls.push({ ...place, ...timing });
    now += duration_ns;
  }
  const before = store.tokens.slice(0, given);
  const meta: Meta = {
    ...store.meta,
    stack: `${YOU} > target`,
    asked: `${YOU} > target`,
    prefill_ns: 0,
    wall_ns: now,
    plain: { tokens_per_second: 1e9 / price.one },
    max_new_tokens: tokens.length,
    fastest_of: null,
    stop_reason: null,
    modelled: true,
  };
  return {
    run: "game",
    seq: 1,
    prompt: store.prompt + before.map(({ text }) => text).join(""),
    prompt_ids: [...store.promptIds, ...before.map(({ token_id }) => token_id)],
    levels: [YOU, "target"],
    meta,
    tokens: columns(tokens, named("tokens")),
    drafts: columns(drafts, named("drafts")),
    rounds: columns(rounds, named("rounds")),
    calls: columns(calls, named("calls")),
    pieces,
  };
}
