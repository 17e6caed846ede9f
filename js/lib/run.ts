// A run in the browser, and its events. Pure: no document, no widget model.
import { listeners } from "./listeners";
import type { SettingName } from "./options";
import type { Call, Columns, Draft, Round, Tables, Token } from "./tables";

export type Sampling = Partial<Record<Exclude<SettingName, "max_new_tokens">, number | null>> & {
  rule?: string;
};
/** Events per second, or "recorded". */
export type Speed = number | "recorded";
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
/**
 * An event of a target round: its draft is proposed, a draft token gets its verdict, or the round's
 * own token is drawn. `token` indexes the text's token at that position, `shown` counts the tokens
 * emitted after the event.
 */
export interface Event {
  kind: "draft" | "verdict" | "token";
  round: number;
  token: number;
  shown: number;
  draft: Draft | null;
}

/** What happened to a run: another one, or new steps of the same. */
export type Change = "reset" | "append";
/** The events and tokens of a target round. */
export interface Span {
  id: number;
  begin: number;
  end: number;
  first: number;
  count: number;
}
export interface Index {
  events: Event[];
  rounds: Span[];
  /** The places of target rounds in `rounds`, and the event that emitted each token. */
  placeOf: Map<number, number>;
  stepOf: number[];
}

const TABLES = ["tokens", "drafts", "rounds", "calls"] as const;

/** The columns of several steps as those of one. */
export function joined(steps: readonly Step[]): Step {
  const pieces = Object.assign({}, ...steps.map((step) => step.pieces));
  const all = TABLES.map((table) => {
    const parts = steps.map((step) => step[table] as Record<string, unknown[]>);
    const names = new Set(parts.flatMap(Object.keys));
    return [
      table,
      Object.fromEntries(
        [...names].map((name) => [name, parts.flatMap((part) => part[name] ?? [])]),
      ),
    ];
  });
  return { ...Object.fromEntries(all), pieces } as Step;
}

/** The rows of a table, which arrives as columns. */
function rowsOf<Row>(columns: Columns<Row>): Row[] {
  const named = Object.entries(columns) as [string, unknown[]][];
  return (named[0]?.[1] ?? []).map(
    (_, k) => Object.fromEntries(named.map(([name, values]) => [name, values[k]])) as Row,
  );
}
const isTimed = (meta?: Meta) => (meta?.wall_ns ?? null) !== null;
const NO_META: Meta = { stack: "", sampling: {}, prefill_ns: null, wall_ns: null };

/** The tables of a run: without steps at first. */
class RunTables {
  pieces: Record<number, string> = {};
  tokens: Token[] = [];
  /** Those of all levels. */
  rounds = new Map<number, Round>();
  /** The numbers of the target rounds, from 1. */
  order = new Map<number, number>();
  /** The rounds of the level below that served a round. */
  children = new Map<number, number[]>();
  drafts = new Map<number, Draft[]>();
  calls: Call[] = [];
  /** The columns as they arrived. */
  steps: Step[] = [];
}

/**
 * A run so far. `adopt` takes a snapshot (the `data` of a view), `receive` the steps of a live run;
 * listeners get ("reset", 0) for a new run and ("append", index of the first new token) for new
 * steps.
 */
export class Store extends RunTables {
  run = "";
  seq = 0;
  prompt = "";
  promptIds: number[] = [];
  levels: string[] = [];
  meta = NO_META;
  readonly listeners = listeners<[what: Change, from: number]>();
  /** The events of the steps so far; null: they are not made yet. */
  private events: Index | null = null;

  /** `letter` is the name of the run among several: A, B, C. */
  constructor(readonly letter = "") {
    super();
  }

  extend(part: Step) {
    this.events = null;
    this.steps.push(part);
    for (const round of rowsOf<Round>(part.rounds)) this.addRound(round);
    for (const draft of rowsOf<Draft>(part.drafts)) {
      const drafts = this.drafts.get(draft.round);
      if (drafts) drafts.push(draft);
      else this.drafts.set(draft.round, [draft]);
    }
    for (const call of rowsOf<Call>(part.calls)) this.calls.push(call);
    Object.assign(this.pieces, part.pieces);
    for (const token of rowsOf<Token>(part.tokens)) this.tokens.push(token);
  }

  /** The run as columns. */
  snapshot(): Snapshot {
    const { run, seq, prompt, promptIds: prompt_ids, levels, meta } = this;
    return { run, seq, prompt, prompt_ids, levels, meta, ...joined(this.steps) };
  }

  /** Forget the run. */
  clear() {
    this.begin({ run: "", seq: 0, prompt: "", prompt_ids: [], levels: [], meta: NO_META });
  }

  /**
   * Take a snapshot, unless it is not newer; of a run that has all its steps the final head is
   * enough.
   */
  adopt(taken: Partial<Snapshot> | null) {
    if (!taken || taken.run === undefined) return;
    const data = taken as Snapshot;
    if (data.run === this.run && data.seq <= this.seq) {
      // End of a live run: the same rows with final times.
      if (data.seq < this.seq || isTimed(this.meta) || !isTimed(data.meta)) return;
      this.meta = data.meta;
      return this.listeners.tell("append", this.tokens.length);
    }
    this.begin(data);
    this.extend(data);
    this.listeners.tell("reset", 0);
  }

  /** Take the steps of a message; false: earlier steps are missing and a snapshot is needed. */
  receive(message: Append): boolean {
    if (message.kind !== "append") return true;
    if (message.run === this.run && message.seq <= this.seq) return true;
    if (message.run !== this.run || message.first > this.seq + 1) return false;
    const from = this.tokens.length;
    for (const step of message.steps.slice(this.seq + 1 - message.first)) this.extend(step);
    this.seq = message.seq;
    this.listeners.tell("append", from);
    return true;
  }

  /** The run as events: see {@link indexOf}. */
  index(): Index {
    this.events ??= indexOf(this);
    return this.events;
  }

  /** The target round of a round of any level. */
  topRound(id: number): number | null {
    let round = this.rounds.get(id);
    while (round && round.parent !== null) round = this.rounds.get(round.parent);
    return round ? round.id : null;
  }

  levelName(level: number): string {
    return this.levels[level] ?? `level ${level}`;
  }

  /** Who verifies in a round, within a sentence. */
  actor(round: Round): string {
    return round.parent === null ? "the target" : this.levelName(round.level);
  }

  /** The draft row of an accepted token in its target round, or null. */
  ownDraft({ kind, round, depth, token_id }: Token): Draft | null {
    if (kind !== "accepted") return null;
    const isOwn = (draft: Draft) =>
      draft.verdict === "accepted" && draft.depth === depth && draft.token_id === token_id;
    return this.drafts.get(round)?.find(isOwn) ?? null;
  }

  /** Begin a run without steps. */
  private begin({ run, seq, prompt, prompt_ids, levels, meta = NO_META }: Head) {
    this.events = null;
    Object.assign(this, new RunTables());
    Object.assign(this, { run, seq, prompt, promptIds: prompt_ids, levels, meta });
  }

  /** Displayed numbers count target rounds; ids also include rounds of lower levels. */
  private addRound(round: Round) {
    const { id, parent } = round;
    this.rounds.set(id, round);
    if (parent === null) this.order.set(id, this.order.size + 1);
    else this.children.set(parent, [...(this.children.get(parent) ?? []), id]);
  }
}

export const createStore = (letter = "") => new Store(letter);

/**
 * The events of a run. For each target round, in order: its draft is proposed (kind "draft", if
 * any); each accepted or rejected draft token gets its verdict (kind "verdict", by depth, rejected
 * before accepted); the round's own token is drawn (kind "token": correction, bonus or plain).
 */
export function indexOf(store: Pick<Store, "tokens" | "order" | "drafts" | "ownDraft">): Index {
  const { tokens } = store;
  const events: Event[] = [];
  const rounds: Span[] = [];
  const stepOf: number[] = [];
  const placeOf = new Map<number, number>();
  let i = 0;
  for (const round of store.order.keys()) {
    const begin = events.length;
    const first = i;
    const drafts = store.drafts.get(round) || [];
    const refused = drafts
      .filter((d) => d.verdict === "rejected")
      .sort((a, b) => a.depth - b.depth || a.node - b.node);
    let told = 0;
    const refuse = (depth: number) => {
      while (told < refused.length && refused[told].depth <= depth)
        events.push({ kind: "verdict", round, token: i, shown: i, draft: refused[told++] });
    };
    if (drafts.length) events.push({ kind: "draft", round, token: i, shown: i, draft: null });
    for (; i < tokens.length && tokens[i].round === round; i++) {
      const t = tokens[i];
      refuse(t.kind === "accepted" ? t.depth : Infinity);
      stepOf.push(events.length);
      const kind = t.kind === "accepted" ? "verdict" : "token";
      events.push({ kind, round, token: i, shown: i + 1, draft: store.ownDraft(t) });
    }
    refuse(Infinity);
    placeOf.set(round, rounds.length);
    rounds.push({ id: round, begin, end: events.length, first, count: i - first });
  }
  // Tokens rejected after the last one are listed with it.
  for (const e of events) e.token = Math.min(e.token, tokens.length - 1);
  return { events, rounds, placeOf, stepOf };
}

/**
 * Duration of an event when played, in ms: `speed` is events per second, or "recorded" for its
 * share of the round's time.
 */
export function lasts(store: Store, step: number, speed: Speed) {
  if (speed !== "recorded") return 1000 / speed;
  const { events, rounds, placeOf } = store.index();
  const round = rounds[placeOf.get(events[step].round) ?? 0];
  return (store.rounds.get(round.id)?.duration_ns ?? 0) / 1e6 / (round.end - round.begin);
}

/** Advance from event `step` by `ms`: [event, remaining ms]. Stops at the last event. */
export function advance(
  store: Store,
  step: number,
  ms: number,
  speed: Speed,
): [step: number, rest: number] {
  const last = store.index().events.length - 1;
  while (step < last) {
    const need = lasts(store, step, speed);
    if (ms < need) return [step, ms];
    ms -= need;
    step += 1;
  }
  return [step, 0];
}
/** A whole run. */
export function storeOf(run: Snapshot, letter = "") {
  const store = createStore(letter);
  store.adopt(run);
  return store;
}
