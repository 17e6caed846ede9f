// A group is one run and one cursor, identified by name.
import { press } from "./dom";
import { listeners } from "./listeners";
import { advance, createStore, lasts, type Snapshot } from "./run";
import type { Model } from "./widget";

/** Events per second, or "recorded". */
export type Speed = number | "recorded";
/** A place in the run: one of an event, a token, or a round of any level. */
export interface Where {
  step?: number;
  token?: number;
  round?: number;
}
/**
 * An event (-1: none), its token (-1: none), its target round, and a selected round of a lower
 * level within it.
 */
export interface Place {
  step: number;
  token: number;
  round: number | null;
  inner: number | null;
}
/** What is under the cursor; replaced, never changed. */
export interface Cursor extends Readonly<Place> {
  /** Whether it stays when the pointer leaves. */
  readonly pinned: boolean;
  /** What is under the pointer; equals the cursor unless something is pinned or played. */
  readonly hover: Place | null;
  /** Highlighted text positions (0: first prompt token); `reveal`: scroll to the first. */
  readonly lit: { readonly positions: readonly number[]; readonly reveal: boolean } | null;
  /**
   * Tokens emitted at the cursor while the run is played or scrubbed; null: the whole text counts.
   */
  readonly shown: number | null;
  readonly playing: boolean;
  readonly speed: Speed;
}
export type Group = ReturnType<typeof createGroup>;

const NOWHERE: Cursor = Object.freeze({
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

/** Milliseconds without a view after which a group forgets its run. */
const FORGET = 1000;

export function createGroup() {
  const store = createStore();
  /** The models that publish to the group or follow it, as functions that take the model's run. */
  const members = new Set<() => void>();
  let views = 0;
  let forgotten = false;
  const at: Record<"hover" | "key" | "pin", Place | null> = { hover: null, key: null, pin: null };
  let lit: Cursor["lit"] = null;
  let run = store.run;
  let playing = false;
  let following = false;
  let speed = NOWHERE.speed;
  let timer = 0;

  function resolve(where: Where | null): Place | null {
    if (!where) return null;
    const { events, rounds, placeOf, stepOf } = store.index();
    let step = where.step;
    if (step === undefined && where.token !== undefined) step = stepOf[where.token];
    if (step === undefined && where.round !== undefined) {
      step = rounds[placeOf.get(store.topRound(where.round) ?? NaN) ?? -1]?.begin;
    }
    const event = events[step ?? -1];
    if (step === undefined || !event) return null;
    const inner = where.round !== undefined && where.round !== event.round ? where.round : null;
    return { step, token: event.token, round: event.round, inner };
  }
  function tell() {
    const here = at.pin || (playing ? at.key : at.hover || at.key) || NOWHERE;
    const mark = at.pin || at.key;
    const shown = following && mark ? (store.index().events[mark.step]?.shown ?? null) : null;
    const before = group.cursor;
    const { token, round, inner, step } = here;
    const place = { token, round, inner, step, pinned: Boolean(at.pin), hover: at.hover };
    const next: Cursor = { ...place, lit, shown, playing, speed };
    if ((Object.keys(next) as (keyof Cursor)[]).every((k) => next[k] === before[k])) return;
    group.cursor = Object.freeze(next);
    group.listeners.tell(group.cursor, before);
  }
  /** The event that keys start from, ignoring hover. */
  const base = () => (at.pin || at.key)?.step ?? -1;
  const last = () => store.index().events.length - 1;
  const same = (a: Place | null, b: Place | null) =>
    a === b || (a && b && a.step === b.step && a.token === b.token && a.inner === b.inner);

  const group = {
    store,
    /** Continue the run from a place with another token; null: the page cannot. */
    branch: null as ((at: number, text: string) => void) | null,
    cursor: NOWHERE,
    listeners: listeners<[cursor: Cursor, before: Cursor]>(),
    hover(where: Where | null) {
      const place = resolve(where);
      if (same(place, at.hover)) return;
      at.hover = place;
      tell();
    },
    pin(where: Where | null) {
      const place = resolve(where);
      if (where && !place) return;
      at.pin = place;
      if (place) at.key = place;
      tell();
    },
    go(where: Where | null) {
      const place = resolve(where);
      if (!place) return;
      at.key = place;
      at.hover = null;
      if (at.pin) at.pin = place;
      tell();
    },
    light(at: number | readonly number[] | null, reveal = false) {
      const positions = at === null ? [] : [at].flat();
      if (!reveal && String(positions) === String(lit?.positions ?? "")) return;
      lit = positions.length ? Object.freeze({ positions, reveal }) : null;
      tell();
    },
    move(by: number) {
      group.go({ step: Math.max(0, Math.min(last(), base() + by)) });
    },
    round(by: number) {
      const { events, rounds, placeOf } = store.index();
      const step = base();
      if (step < 0) return group.move(1);
      const place = placeOf.get(events[step].round) ?? 0;
      // Back first goes to the start of the current round.
      const next = by > 0 ? place + 1 : step > rounds[place].begin ? place : place - 1;
      if (rounds[next]) group.go({ step: rounds[next].begin });
    },
    token(by: number) {
      const { events, stepOf } = store.index();
      const event = events[base()];
      if (!event) return group.move(1);
      const emitted = stepOf[event.shown - 1] === base();
      group.go({ step: stepOf[by > 0 ? event.shown : event.shown - (emitted ? 2 : 1)] });
    },
    /** Unpin, and show the whole text. */
    release() {
      const held = at.pin || at.hover || following;
      at.pin = at.hover = null;
      following = false;
      group.pause();
      tell();
      return Boolean(held);
    },
    follow() {
      following = true;
      tell();
    },
    scrub(step: number) {
      following = true;
      group.go({ step: Math.max(0, Math.min(last(), step)) });
    },
    play() {
      if (playing || last() < 0) return;
      playing = following = true;
      const here = base();
      group.go({ step: here < 0 || here >= last() ? 0 : here });
      tell();
      let before = performance.now();
      let left = 0;
      const tick = () => {
        const now = performance.now();
        // After a hidden page is shown again, playing resumes where it was.
        const [step, rest] = advance(store, base(), left + Math.min(now - before, 1000), speed);
        before = now;
        left = rest;
        if (step !== base()) group.go({ step });
        if (step >= last()) group.pause();
        else
          timer = setTimeout(tick, Math.max(16, Math.min(200, lasts(store, step, speed) - left)));
      };
      timer = setTimeout(tick, 0);
    },
    pause() {
      clearTimeout(timer);
      playing = false;
      tell();
    },
    pace(value: Speed) {
      speed = value;
      tell();
    },
    keydown(event: KeyboardEvent) {
      if (event.defaultPrevented) return false;
      const keys: Record<string, () => unknown> = {
        ArrowRight: () => (event.shiftKey ? group.round(1) : group.move(1)),
        ArrowLeft: () => (event.shiftKey ? group.round(-1) : group.move(-1)),
        ".": () => group.token(1),
        ",": () => group.token(-1),
        Home: () => group.go({ step: 0 }),
        End: () => group.go({ step: last() }),
        Enter: () => base() >= 0 && group.pin({ step: base() }),
        " ": () => (playing ? group.pause() : group.play()),
        Escape: () => group.release(),
      };
      // Fields handle their own keys; Enter and Space activate buttons.
      const pressed = event.key === "Enter" || event.key === " ";
      const own = `input, select, textarea${pressed ? ", button, summary, a" : ""}`;
      if (event.key !== "Escape" && (event.target as Element).closest?.(own)) return false;
      return press(event, keys, true);
    },
    /** Whether a model is in the group. */
    used: () => members.size > 0,
    /**
     * Count an open view; returns a function for when it closes. Without views the group forgets
     * its run, and takes it again from its models when a view opens: a notebook keeps the models of
     * outputs that were cleared.
     */
    attend() {
      views += 1;
      if (forgotten) {
        forgotten = false;
        for (const take of members) take();
      }
      return () => {
        views -= 1;
        setTimeout(() => {
          if (views === 0) forget();
        }, FORGET);
      };
    },
    /** Add a view's model, which may publish the run. Returns a function that removes it. */
    join(model: Model<{ data: Partial<Snapshot> }>) {
      const adopt = () => {
        if (!forgotten) store.adopt(model.get("data"));
      };
      adopt();
      members.add(adopt);
      model.on("change:data", adopt);
      return () => {
        members.delete(adopt);
        model.off("change:data", adopt);
      };
    },
  };
  function forget() {
    group.pause();
    store.clear();
    run = "";
    at.hover = at.key = at.pin = lit = null;
    following = false;
    tell();
    forgotten = true;
  }
  store.listeners.add((what) => {
    if (what !== "reset") return;
    // A more complete copy of the same run keeps the cursor; another run resets it.
    const keep = store.run === run;
    run = store.run;
    if (!keep) {
      following = playing = false;
      lit = null;
      clearTimeout(timer);
    }
    for (const k of ["hover", "key", "pin"] as const) {
      const place = at[k];
      at[k] = keep && place ? resolve({ step: place.step }) : null;
    }
    tell();
  });
  return group;
}

/** The groups of the page by name. */
export const groups = new Map<string, Group>();

/** The group of this name (empty: a new group). */
export function hsdGroup(name: string | undefined): Group {
  if (!name) return createGroup();
  const found = groups.get(name) ?? createGroup();
  groups.set(name, found);
  return found;
}

/** Forget a group that no model follows, with its run. */
export function release(name: string) {
  if (groups.get(name)?.used() === false) groups.delete(name);
}
