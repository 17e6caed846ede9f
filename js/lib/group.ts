// A group is one run and one cursor, identified by name.
import { press } from "./dom";
import { listeners } from "./listeners";
import { advance, createStore, lasts, type Snapshot, type Speed } from "./run";
import type { Model } from "./widget";

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
/** Milliseconds that a frame of a played run counts at most, and between two of its steps. */
const LONGEST_FRAME = 1000;
const TICK = { least: 16, most: 200 };

/** Elements that have keys of their own, and those that Enter and Space activate. */
const FIELDS = "input, select, textarea";
const BUTTONS = "button, summary, a";

const isSame = (a: Place | null, b: Place | null) =>
  a === b || (a && b && a.step === b.step && a.token === b.token && a.inner === b.inner);

/** The marks of a cursor: what is under the pointer, where keys start from, and what is pinned. */
type Marks = Record<"hover" | "key" | "pin", Place | null>;

/** A run and its cursor. */
export class Group {
  readonly store = createStore();
  readonly listeners = listeners<[cursor: Cursor, before: Cursor]>();
  cursor = NOWHERE;
  /** Continue the run from a place with another token; null: the page cannot. */
  branch: ((at: number, text: string) => void) | null = null;
  /** The models that publish to the group or follow it, as functions that take the model's run. */
  private readonly members = new Set<() => void>();
  private views = 0;
  /** Whether the run was dropped because no view was open. */
  private isForgotten = false;
  private readonly at: Marks = { hover: null, key: null, pin: null };
  private lit: Cursor["lit"] = null;
  /** The run that the cursor belongs to. */
  private run = "";
  private isPlaying = false;
  /** Whether only the text up to the cursor is shown. */
  private isFollowing = false;
  private speed = NOWHERE.speed;
  private timer = 0;

  constructor() {
    this.store.listeners.add((what) => {
      if (what === "reset") this.onReset();
    });
  }

  // --- the cursor
  hover(where: Where | null) {
    const place = this.resolve(where);
    if (isSame(place, this.at.hover)) return;
    this.at.hover = place;
    this.tell();
  }

  pin(where: Where | null) {
    const place = this.resolve(where);
    if (where && !place) return;
    this.at.pin = place;
    if (place) this.at.key = place;
    this.tell();
  }

  go(where: Where | null) {
    const place = this.resolve(where);
    if (!place) return;
    this.at.key = place;
    this.at.hover = null;
    if (this.at.pin) this.at.pin = place;
    this.tell();
  }

  light(at: number | readonly number[] | null, reveal = false) {
    const positions = at === null ? [] : [at].flat();
    if (!reveal && String(positions) === String(this.lit?.positions ?? "")) return;
    this.lit = positions.length ? Object.freeze({ positions, reveal }) : null;
    this.tell();
  }

  /** Unpin, and show the whole text; returns whether there was anything to release. */
  release() {
    const held = this.at.pin || this.at.hover || this.isFollowing;
    this.at.pin = null;
    this.at.hover = null;
    this.isFollowing = false;
    this.pause();
    this.tell();
    return Boolean(held);
  }

  // --- steps through the run
  move(by: number) {
    this.go({ step: this.within(this.base() + by) });
  }

  round(by: number) {
    const { events, rounds, placeOf } = this.store.index();
    const step = this.base();
    if (step < 0) return this.move(1);
    const place = placeOf.get(events[step].round) ?? 0;
    // Back first goes to the start of the current round.
    const isInside = step > rounds[place].begin;
    let next = place + 1;
    if (by <= 0) next = isInside ? place : place - 1;
    if (rounds[next]) this.go({ step: rounds[next].begin });
  }

  token(by: number) {
    const { events, stepOf } = this.store.index();
    const event = events[this.base()];
    if (!event) return this.move(1);
    const isEmitted = stepOf[event.shown - 1] === this.base();
    const before = event.shown - (isEmitted ? 2 : 1);
    this.go({ step: stepOf[by > 0 ? event.shown : before] });
  }

  // --- playing
  /** Show only the text up to the cursor. */
  follow() {
    this.isFollowing = true;
    this.tell();
  }

  scrub(step: number) {
    this.isFollowing = true;
    this.go({ step: this.within(step) });
  }

  play() {
    if (this.isPlaying || this.last() < 0) return;
    this.isPlaying = true;
    this.isFollowing = true;
    const here = this.base();
    this.go({ step: here < 0 || here >= this.last() ? 0 : here });
    this.tell();
    let before = performance.now();
    let left = 0;
    const tick = () => {
      const now = performance.now();
      // After a hidden page is shown again, playing resumes where it was.
      const passed = left + Math.min(now - before, LONGEST_FRAME);
      const [step, rest] = advance(this.store, this.base(), passed, this.speed);
      before = now;
      left = rest;
      if (step !== this.base()) this.go({ step });
      if (step >= this.last()) return this.pause();
      const wait = lasts(this.store, step, this.speed) - left;
      this.timer = setTimeout(tick, Math.max(TICK.least, Math.min(TICK.most, wait)));
    };
    this.timer = setTimeout(tick, 0);
  }

  pause() {
    clearTimeout(this.timer);
    this.isPlaying = false;
    this.tell();
  }

  pace(value: Speed) {
    this.speed = value;
    this.tell();
  }

  keydown(event: KeyboardEvent): boolean {
    if (event.defaultPrevented) return false;
    const keys: Record<string, () => unknown> = {
      ArrowRight: () => (event.shiftKey ? this.round(1) : this.move(1)),
      ArrowLeft: () => (event.shiftKey ? this.round(-1) : this.move(-1)),
      ".": () => this.token(1),
      ",": () => this.token(-1),
      Home: () => this.go({ step: 0 }),
      End: () => this.go({ step: this.last() }),
      Enter: () => this.base() >= 0 && this.pin({ step: this.base() }),
      " ": () => (this.isPlaying ? this.pause() : this.play()),
      Escape: () => this.release(),
    };
    // Fields handle their own keys; Enter and Space activate buttons.
    const isPress = event.key === "Enter" || event.key === " ";
    const own = isPress ? `${FIELDS}, ${BUTTONS}` : FIELDS;
    if (event.key !== "Escape" && (event.target as Element).closest?.(own)) return false;
    return press(event, keys, true);
  }

  // --- models and views
  /** Whether a model is in the group. */
  used(): boolean {
    return this.members.size > 0;
  }

  /**
   * Count an open view; returns a function for when it closes. Without views the group forgets its
   * run, and takes it again from its models when a view opens: a notebook keeps the models of
   * outputs that were cleared.
   */
  attend() {
    this.views += 1;
    if (this.isForgotten) {
      this.isForgotten = false;
      for (const take of this.members) take();
    }
    return () => {
      this.views -= 1;
      setTimeout(() => {
        if (this.views === 0) this.forget();
      }, FORGET);
    };
  }

  /** Add a view's model, which may publish the run. Returns a function that removes it. */
  join(model: Model<{ data: Partial<Snapshot> }>) {
    const adopt = () => {
      if (!this.isForgotten) this.store.adopt(model.get("data"));
    };
    adopt();
    this.members.add(adopt);
    model.on("change:data", adopt);
    return () => {
      this.members.delete(adopt);
      model.off("change:data", adopt);
    };
  }

  // --- state
  private resolve(where: Where | null): Place | null {
    if (!where) return null;
    const { events, rounds, placeOf, stepOf } = this.store.index();
    let { step } = where;
    if (step === undefined && where.token !== undefined) step = stepOf[where.token];
    if (step === undefined && where.round !== undefined) {
      const top = this.store.topRound(where.round) ?? NaN;
      step = rounds[placeOf.get(top) ?? -1]?.begin;
    }
    const event = events[step ?? -1];
    if (step === undefined || !event) return null;
    const isLower = where.round !== undefined && where.round !== event.round;
    const inner = isLower ? (where.round ?? null) : null;
    return { step, token: event.token, round: event.round, inner };
  }

  /** The event that keys start from, ignoring hover. */
  private base(): number {
    return (this.at.pin || this.at.key)?.step ?? -1;
  }

  private last(): number {
    return this.store.index().events.length - 1;
  }

  private within(step: number): number {
    return Math.max(0, Math.min(this.last(), step));
  }

  /** The place of the cursor: what is pinned, else under the pointer unless the run is played. */
  private place(): Place {
    const { pin, hover, key } = this.at;
    return pin || (this.isPlaying ? key : hover || key) || NOWHERE;
  }

  /** Make the cursor, and call the listeners if it has changed. */
  private tell() {
    const { token, round, inner, step } = this.place();
    const mark = this.at.pin || this.at.key;
    const isCut = this.isFollowing && mark !== null;
    const next: Cursor = {
      token,
      round,
      inner,
      step,
      pinned: Boolean(this.at.pin),
      hover: this.at.hover,
      lit: this.lit,
      shown: isCut ? (this.store.index().events[mark.step]?.shown ?? null) : null,
      playing: this.isPlaying,
      speed: this.speed,
    };
    const before = this.cursor;
    const names = Object.keys(next) as (keyof Cursor)[];
    if (names.every((name) => next[name] === before[name])) return;
    this.cursor = Object.freeze(next);
    this.listeners.tell(this.cursor, before);
  }

  /** A more complete copy of the same run keeps the cursor; another run resets it. */
  private onReset() {
    const isSameRun = this.store.run === this.run;
    this.run = this.store.run;
    if (!isSameRun) {
      this.isFollowing = false;
      this.isPlaying = false;
      this.lit = null;
      clearTimeout(this.timer);
    }
    for (const name of ["hover", "key", "pin"] as const) {
      const place = this.at[name];
      this.at[name] = isSameRun && place ? this.resolve({ step: place.step }) : null;
    }
    this.tell();
  }

  private forget() {
    this.pause();
    this.store.clear();
    this.run = "";
    this.at.hover = null;
    this.at.key = null;
    this.at.pin = null;
    this.lit = null;
    this.isFollowing = false;
    this.tell();
    this.isForgotten = true;
  }
}

export const createGroup = () => new Group();

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
