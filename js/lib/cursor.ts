// The cursor of a run: its position and its state. Pure functions.
import type { Speed } from "./events";
import type { Store } from "./run";

/** A reference to a place in the run by one of: event, token, or round of any level. */
export interface Where {
  step?: number;
  token?: number;
  round?: number;
}
/**
 * A place in the run: an event (-1: none), its token (-1: none), its target round, and a selected
 * round of a lower level within that round.
 */
export interface Place {
  step: number;
  token: number;
  round: number | null;
  inner: number | null;
}
/** The state of the cursor; replaced, never mutated. */
export interface Cursor extends Readonly<Place> {
  /** Whether the cursor stays when the pointer leaves. */
  readonly pinned: boolean;
  /** The place under the pointer. Differs from the cursor while it is pinned or the run plays. */
  readonly hover: Place | null;
  /** Highlighted positions of the text (0: first prompt token); `reveal`: scroll to the first. */
  readonly lit: { readonly positions: readonly number[]; readonly reveal: boolean } | null;
  /** Number of tokens shown while the run is played or scrubbed; null: all. */
  readonly shown: number | null;
  readonly playing: boolean;
  readonly speed: Speed;
}

export const NOWHERE: Cursor = Object.freeze({
  token: -1,
  round: null,
  inner: null,
  step: -1,
  pinned: false,
  hover: null,
  lit: null,
  shown: null,
  playing: false,
  speed: 4,
});

export const isSame = (a: Place | null, b: Place | null) =>
  a === b || (a && b && a.step === b.step && a.token === b.token && a.inner === b.inner);

/** Return the place that an event, a token or a round refers to; null: there is none. */
export function locate(store: Store, where: Where | null): Place | null {
  if (!where) return null;
  const { events, rounds, placeOf, stepOf } = store.index();
  let { step } = where;
  if (step === undefined && where.token !== undefined) step = stepOf[where.token];
  if (step === undefined && where.round !== undefined) {
    const top = store.topRound(where.round) ?? NaN;
    step = rounds[placeOf.get(top) ?? -1]?.begin;
  }
  const event = events[step ?? -1];
  if (step === undefined || !event) return null;
  const isLower = where.round !== undefined && where.round !== event.round;
  const inner = isLower ? (where.round ?? null) : null;
  return { step, token: event.token, round: event.round, inner };
}
