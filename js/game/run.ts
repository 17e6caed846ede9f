// The visitor's game as a run: every view of the explorer opens on it as on a recording. Pure.

import { YOU } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Meta, Snapshot } from "../lib/run_data";
import {
  type Call,
  COLUMNS,
  type Columns,
  type Draft,
  type Round,
  type Token,
} from "../lib/tables";
import { costOf, type Price } from "./score";
import { bare, type VerifiedPass } from "./words";

/** A pass of the game: its place in the text, the words that were written, and their results. */
export interface Played extends VerifiedPass {
  at: number;
  words: string[];
}

const columns = <Row>(rows: readonly Row[], names: readonly (keyof Row)[]): Columns<Row> =>
  Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])) as Columns<Row>;
/** The id of a word that is not a single token of the model. */
const NO_ID = -1;

/** A draft row of the visitor. */
const draftOf = (
  round: number,
  node: number,
  token: Pick<Draft, "token_id" | "text" | "p" | "verdict">,
): Draft => ({
  ...token,
  round,
  level: 1,
  source: YOU,
  node,
  parent: node - 1,
  depth: node + 1,
  q: 1,
  u: null,
  h: null,
  key_length: null,
  count: null,
  score: null,
  position: null,
  cosine: null,
});

/** The id of a word that is a single token of the model. */
function idOf({ pieces }: Store, word: string): number | undefined {
  const known = Object.entries(pieces).find(
    ([, text]) => bare(text) === bare(word) && text.startsWith(" "),
  );
  return known && Number(known[0]);
}

/**
 * The draft of a pass: the tokens that were accepted, then the words that were not. `before` rows
 * are in the table already.
 */
function draftsOf(store: Store, round: number, pass: Played, before: number): Draft[] {
  const read = store.tokens.slice(pass.at, pass.own);
  const accepted = read.map(({ token_id, text }, node) =>
    draftOf(round, node, { token_id, text, p: 1, verdict: "accepted" }),
  );
  const wrong = pass.words.filter((_, k) => pass.fates[k] !== "accepted");
  const others = wrong.map((word, k) => {
    const node = read.length + k;
    return draftOf(round, node, {
      token_id: idOf(store, word) ?? NO_ID - before - node,
      text: ` ${word}`,
      p: k ? null : 0,
      verdict: k ? "unreached" : "rejected",
    });
  });
  return [...accepted, ...others];
}

/** How a pass with this draft ended. */
function outcomeOf(draft: readonly Draft[]): "plain" | "bonus" | "correction" {
  if (!draft.length) return "plain";
  return draft.every(({ verdict }) => verdict === "accepted") ? "bonus" : "correction";
}

/** The tokens of a pass: those that were accepted, and the model's own. */
function tokensOf(
  store: Store,
  round: number,
  pass: Played,
  kind: ReturnType<typeof outcomeOf>,
  first: number,
): Token[] {
  const read = store.tokens.slice(pass.at, pass.own);
  const tokens: Token[] = read.map((token, k) => ({
    ...token,
    index: first + k,
    round,
    kind: "accepted",
    source: YOU,
    path: [0, 1],
    depth: k + 1,
  }));
  const own = store.tokens[pass.own];
  if (!own) return tokens;
  const index = first + read.length;
  return [...tokens, { ...own, index, round, kind, source: "target", path: [1], depth: 0 }];
}

function roundOf(
  id: number,
  draft: readonly Draft[],
  start_ns: number,
  duration_ns: number,
): Round {
  const accepted = draft.filter(({ verdict }) => verdict === "accepted").length;
  return {
    id,
    parent: null,
    level: 1,
    drafted: draft.length,
    examined: draft.filter(({ verdict }) => verdict !== "unreached").length,
    accepted,
    outcome: outcomeOf(draft),
    why_no_draft: draft.length ? null : "no match",
    start_ns,
    duration_ns,
    rule: "token",
    draft_end: null,
  };
}

function callOf({ id, start_ns, duration_ns }: Round, fed: number, cached: number): Call {
  return {
    round: id,
    level: 1,
    name: "target",
    kind: "verify",
    steps: 1,
    fed,
    cached,
    start_ns,
    duration_ns,
  };
}

/** The meta of a game of so many tokens and nanoseconds. */
function metaOf({ meta }: Store, price: Price, tokens: number, wall_ns: number): Meta {
  return {
    ...meta,
    stack: `${YOU} > target`,
    asked: `${YOU} > target`,
    prefill_ns: 0,
    wall_ns,
    plain: { tokens_per_second: 1e9 / price.one },
    max_new_tokens: tokens,
    fastest_of: null,
    stop_reason: null,
    modelled: true,
  };
}

/**
 * The run of a played text: its prompt is the recording's with the text that was given. Times are
 * those of recorded passes over as many tokens (score.ts); the visitor's own time is not counted.
 */
export function runOf(
  store: Store,
  given: number,
  passes: readonly Played[],
  price: Price,
): Snapshot {
  const tokens: Token[] = [];
  const drafts: Draft[] = [];
  const rounds: Round[] = [];
  const calls: Call[] = [];
  const pieces: Record<string, string> = { ...store.pieces };
  let now = 0;
  for (const [id, pass] of passes.entries()) {
    const lasts = Math.round(costOf({ tokens: 0, width: pass.width, drafting: 0 }, price));
    const draft = draftsOf(store, id, pass, drafts.length);
    const round = roundOf(id, draft, now, lasts);
    for (const { verdict, token_id, text } of draft)
      if (verdict !== "accepted") pieces[token_id] = text;
    tokens.push(...tokensOf(store, id, pass, outcomeOf(draft), tokens.length));
    drafts.push(...draft);
    rounds.push(round);
    calls.push(callOf(round, pass.width, store.promptIds.length + pass.at));
    now += lasts;
  }
  const before = store.tokens.slice(0, given);
  return {
    run: "game",
    seq: 1,
    prompt: store.prompt + before.map(({ text }) => text).join(""),
    prompt_ids: [...store.promptIds, ...before.map(({ token_id }) => token_id)],
    levels: [YOU, "target"],
    meta: metaOf(store, price, tokens.length, now),
    tokens: columns(tokens, COLUMNS.tokens),
    drafts: columns(drafts, COLUMNS.drafts),
    rounds: columns(rounds, COLUMNS.rounds),
    calls: columns(calls, COLUMNS.calls),
    pieces,
  };
}
