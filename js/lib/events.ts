// The events of a run, which the player goes through, and how long each lasts. Pure.
import type { Draft, Round, Token } from "./tables";

/** Events per second, or "recorded". */
export type Speed = number | "recorded";

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

/** What the events are made of: `order` has the target rounds, in order. */
interface RunRows {
  tokens: readonly Token[];
  order: ReadonlyMap<number, number>;
  drafts: ReadonlyMap<number, Draft[]>;
  /** The draft row of an accepted token, or null. */
  ownDraft(token: Token): Draft | null;
}
/** A run with its events. */
interface PlayedRun {
  rounds: ReadonlyMap<number, Round>;
  index(): Index;
}

/**
 * The events of a run. For each target round, in order: its draft is proposed (kind "draft", if
 * any); each accepted or rejected draft token gets its verdict (kind "verdict", by depth, rejected
 * before accepted); the round's own token is drawn (kind "token": correction, bonus or plain).
 */
export function indexOf(run: RunRows): Index {
  const { tokens } = run;
  const events: Event[] = [];
  const rounds: Span[] = [];
  const stepOf: number[] = [];
  const placeOf = new Map<number, number>();
  let i = 0;
  for (const round of run.order.keys()) {
    const begin = events.length;
    const first = i;
    const drafts = run.drafts.get(round) || [];
    const refused = drafts
      .filter((d) => d.verdict === "rejected")
      .sort((a, b) => a.depth - b.depth || a.node - b.node);
    let reported = 0;
    const refuse = (depth: number) => {
      while (reported < refused.length && refused[reported].depth <= depth)
        events.push({ kind: "verdict", round, token: i, shown: i, draft: refused[reported++] });
    };
    if (drafts.length) events.push({ kind: "draft", round, token: i, shown: i, draft: null });
    for (; i < tokens.length && tokens[i].round === round; i++) {
      const t = tokens[i];
      refuse(t.kind === "accepted" ? t.depth : Infinity);
      stepOf.push(events.length);
      const kind = t.kind === "accepted" ? "verdict" : "token";
      events.push({ kind, round, token: i, shown: i + 1, draft: run.ownDraft(t) });
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
export function lasts(run: PlayedRun, step: number, speed: Speed) {
  if (speed !== "recorded") return 1000 / speed;
  const { events, rounds, placeOf } = run.index();
  const round = rounds[placeOf.get(events[step].round) ?? 0];
  return (run.rounds.get(round.id)?.duration_ns ?? 0) / 1e6 / (round.end - round.begin);
}

/** Advance from event `step` by `ms`: [event, remaining ms]. Stops at the last event. */
export function advance(
  run: PlayedRun,
  step: number,
  ms: number,
  speed: Speed,
): [step: number, rest: number] {
  const last = run.index().events.length - 1;
  while (step < last) {
    const need = lasts(run, step, speed);
    if (ms < need) return [step, ms];
    ms -= need;
    step += 1;
  }
  return [step, 0];
}
