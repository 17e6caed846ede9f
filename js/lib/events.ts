// The events that the player steps through, and their durations. Pure functions.
import type { Draft, Round, Token } from "./tables";

/** Playback speed: events per second, or "recorded" for that of the run. */
export type Speed = number | "recorded";

/**
 * An event of a target round: its draft is proposed, a draft token gets its verdict, or the round's
 * own token is drawn. `token` is the index of the emitted token at that position; `shown` is the
 * number of tokens emitted up to and including the event.
 */
export interface Event {
  kind: "draft" | "verdict" | "token";
  round: number;
  token: number;
  shown: number;
  draft: Draft | null;
}

/** The ranges of events and tokens of a target round. */
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
  /** Index in `rounds` by id of target round, and the event that emitted each token. */
  placeOf: Map<number, number>;
  stepOf: number[];
}

/** The rows that events are derived from; `order` has the target rounds in order. */
interface RunRows {
  tokens: readonly Token[];
  order: ReadonlyMap<number, number>;
  drafts: ReadonlyMap<number, Draft[]>;
  /** Return the draft row of an accepted token, or null. */
  ownDraft(token: Token): Draft | null;
}
/** A run with an index of its events. */
interface PlayedRun {
  rounds: ReadonlyMap<number, Round>;
  index(): Index;
}

/**
 * Return the events of a run. For each target round in order: the proposal of its draft (kind
 * "draft", if there is one); the verdict on each accepted or rejected draft token (kind "verdict",
 * by depth, rejected before accepted); the round's own token (kind "token": correction, bonus or
 * plain).
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
  // Draft tokens rejected after the last emitted token are listed with that token.
  for (const e of events) e.token = Math.min(e.token, tokens.length - 1);
  return { events, rounds, placeOf, stepOf };
}

/**
 * Return the duration of a played event in ms. At the speed "recorded", the events of a round share
 * its duration.
 */
export function lasts(run: PlayedRun, step: number, speed: Speed) {
  if (speed !== "recorded") return 1000 / speed;
  const { events, rounds, placeOf } = run.index();
  const round = rounds[placeOf.get(events[step].round) ?? 0];
  return (run.rounds.get(round.id)?.duration_ns ?? 0) / 1e6 / (round.end - round.begin);
}

/** Advance from event `step` by `ms`; return [event, remaining ms]. Stops at the last event. */
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
