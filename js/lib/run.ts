// The store of a run, which the views read. Pure: uses no document and no widget model.
import { type Index, indexOf } from "./events";
import { listeners } from "./listeners";
import {
  type Append,
  type Head,
  joined,
  type Meta,
  rowsOf,
  type Snapshot,
  type Step,
} from "./run_data";
import type { Call, Draft, Round, Token } from "./tables";

/** Kind of a change: another run, or new steps of the same run. */
export type Change = "reset" | "append";
const isTimed = (meta?: Meta) => (meta?.wall_ns ?? null) !== null;
const NO_META: Meta = { stack: "", sampling: {}, prefill_ns: null, wall_ns: null };

/** The tables of a run. */
class RunTables {
  pieces: Record<number, string> = {};
  tokens: Token[] = [];
  /** Rounds of all levels, by id. */
  rounds = new Map<number, Round>();
  /** Numbers of the target rounds from 1, by id. */
  order = new Map<number, number>();
  /** Ids of the rounds of the level below that contributed to a round, by its id. */
  children = new Map<number, number[]>();
  drafts = new Map<number, Draft[]>();
  calls: Call[] = [];
  /** The steps as they arrived, in columns. */
  steps: Step[] = [];
}

/**
 * A run that may be in progress. `adopt` takes a snapshot (the `data` of a view), `receive` takes
 * steps of a live run. Listeners get ("reset", 0) for another run, and ("append", index of the
 * first new token) for new steps.
 */
export class Store extends RunTables {
  run = "";
  seq = 0;
  prompt = "";
  promptIds: number[] = [];
  levels: string[] = [];
  meta = NO_META;
  readonly listeners = listeners<[what: Change, from: number]>();
  /** Cached events of the steps so far; null: not computed. */
  private events: Index | null = null;

  /** `letter` names the run in a comparison: A, B, C. */
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

  /** Return the run as columns. */
  snapshot(): Snapshot {
    const { run, seq, prompt, promptIds: prompt_ids, levels, meta } = this;
    return { run, seq, prompt, prompt_ids, levels, meta, ...joined(this.steps) };
  }

  /** Drop the run. */
  clear() {
    this.begin({ run: "", seq: 0, prompt: "", prompt_ids: [], levels: [], meta: NO_META });
  }

  /**
   * Take a snapshot, unless it is older than the run. If the run has all its steps, the final head
   * suffices.
   */
  adopt(taken: Partial<Snapshot> | null) {
    if (!taken || taken.run === undefined) return;
    const data = taken as Snapshot;
    if (data.run === this.run && data.seq <= this.seq) {
      // A live run has ended: the rows are the same, the times are final.
      if (data.seq < this.seq || isTimed(this.meta) || !isTimed(data.meta)) return;
      this.meta = data.meta;
      return this.listeners.notify("append", this.tokens.length);
    }
    this.begin(data);
    this.extend(data);
    this.listeners.notify("reset", 0);
  }

  /** Take the steps of a message; false: earlier steps are missing, so a snapshot is needed. */
  receive(message: Append): boolean {
    if (message.kind !== "append") return true;
    if (message.run === this.run && message.seq <= this.seq) return true;
    if (message.run !== this.run || message.first > this.seq + 1) return false;
    const from = this.tokens.length;
    for (const step of message.steps.slice(this.seq + 1 - message.first)) this.extend(step);
    this.seq = message.seq;
    this.listeners.notify("append", from);
    return true;
  }

  /** Return the events of the run: see {@link indexOf}. */
  index(): Index {
    this.events ??= indexOf(this);
    return this.events;
  }

  /** Return the target round that a round of any level contributed to. */
  topRound(id: number): number | null {
    let round = this.rounds.get(id);
    while (round && round.parent !== null) round = this.rounds.get(round.parent);
    return round ? round.id : null;
  }

  levelName(level: number): string {
    return this.levels[level] ?? `level ${level}`;
  }

  /** Return the name of the verifier of a round, for use within a sentence. */
  actor(round: Round): string {
    return round.parent === null ? "the target" : this.levelName(round.level);
  }

  /** Return the draft row of an accepted token in its target round, or null. */
  ownDraft({ kind, round, depth, token_id }: Token): Draft | null {
    if (kind !== "accepted") return null;
    const isOwn = (draft: Draft) =>
      draft.verdict === "accepted" && draft.depth === depth && draft.token_id === token_id;
    return this.drafts.get(round)?.find(isOwn) ?? null;
  }

  /** Begin another run, without steps. */
  private begin({ run, seq, prompt, prompt_ids, levels, meta = NO_META }: Head) {
    this.events = null;
    Object.assign(this, new RunTables());
    Object.assign(this, { run, seq, prompt, promptIds: prompt_ids, levels, meta });
  }

  /** Add a round. Displayed numbers count target rounds only; ids count rounds of all levels. */
  private addRound(round: Round) {
    const { id, parent } = round;
    this.rounds.set(id, round);
    if (parent === null) this.order.set(id, this.order.size + 1);
    else this.children.set(parent, [...(this.children.get(parent) ?? []), id]);
  }
}

export const createStore = (letter = "") => new Store(letter);

/** Return the store of a snapshot. */
export function storeOf(run: Snapshot, letter = "") {
  const store = createStore(letter);
  store.adopt(run);
  return store;
}
