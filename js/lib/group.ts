// Groups: a run and a cursor that views of the same group name share.
import { type Cursor, isSame, locate, NOWHERE, type Place, type Where } from "./cursor";
import { press } from "./dom";
import type { Speed } from "./events";
import { listeners } from "./listeners";
import { Playback } from "./playback";
import { createStore } from "./run";
import type { Snapshot } from "./run_data";
import type { Model } from "./widget";

/** Milliseconds without an open view after which a group drops its run. */
const FORGET = 1000;
/** Elements that handle keys themselves, and those that Enter and Space activate. */
const FIELDS = "input, select, textarea";
const BUTTONS = "button, summary, a";

/** Places of a cursor: under the pointer, the one that keys start from, and the pinned one. */
type Marks = Record<"hover" | "key" | "pin", Place | null>;

/** A run with its cursor and playback. */
export class Group {
  readonly store = createStore();
  readonly listeners = listeners<[cursor: Cursor, before: Cursor]>();
  cursor = NOWHERE;
  /** Continues the run from a position with another token; null: not available on this page. */
  branch: ((at: number, text: string) => void) | null = null;
  /** Models of the group, each as a function that takes the model's run into the group. */
  private readonly members = new Set<() => void>();
  private views = 0;
  /** Whether the group dropped its run because no view was open. */
  private isForgotten = false;
  private readonly at: Marks = { hover: null, key: null, pin: null };
  private lit: Cursor["lit"] = null;
  /** Id of the run that the cursor belongs to. */
  private run = "";
  /** Whether the text is shown only up to the cursor. */
  private isFollowing = false;
  private readonly playback: Playback;

  constructor() {
    this.playback = new Playback(this.store, NOWHERE.speed, {
      step: () => this.base(),
      go: (step) => this.go({ step }),
      end: () => this.pause(),
    });
    this.store.listeners.add((what) => {
      if (what === "reset") this.onReset();
    });
  }

  // --- the cursor
  hover(where: Where | null) {
    const place = locate(this.store, where);
    if (isSame(place, this.at.hover)) return;
    this.at.hover = place;
    this.notify();
  }

  pin(where: Where | null) {
    const place = locate(this.store, where);
    if (where && !place) return;
    this.at.pin = place;
    if (place) this.at.key = place;
    this.notify();
  }

  go(where: Where | null) {
    const place = locate(this.store, where);
    if (!place) return;
    this.at.key = place;
    this.at.hover = null;
    if (this.at.pin) this.at.pin = place;
    this.notify();
  }

  light(at: number | readonly number[] | null, reveal = false) {
    const positions = at === null ? [] : [at].flat();
    if (!reveal && String(positions) === String(this.lit?.positions ?? "")) return;
    this.lit = positions.length ? Object.freeze({ positions, reveal }) : null;
    this.notify();
  }

  /** Unpin the cursor and show the whole text; returns whether that changed anything. */
  release() {
    const held = this.at.pin || this.at.hover || this.isFollowing;
    this.at.pin = null;
    this.at.hover = null;
    this.isFollowing = false;
    this.pause();
    this.notify();
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
    // Going back first returns to the start of the current round.
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
  /** Show the text only up to the cursor. */
  follow() {
    this.isFollowing = true;
    this.notify();
  }

  scrub(step: number) {
    this.isFollowing = true;
    this.go({ step: this.within(step) });
  }

  play() {
    if (this.playback.isPlaying || this.last() < 0) return;
    this.playback.start();
    this.isFollowing = true;
    const here = this.base();
    this.go({ step: here < 0 || here >= this.last() ? 0 : here });
    this.notify();
  }

  pause() {
    this.playback.stop();
    this.notify();
  }

  pace(value: Speed) {
    this.playback.speed = value;
    this.notify();
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
      " ": () => (this.playback.isPlaying ? this.pause() : this.play()),
      Escape: () => this.release(),
    };
    // Fields handle their own keys; Enter and Space activate buttons.
    const isPress = event.key === "Enter" || event.key === " ";
    const ignored = isPress ? `${FIELDS}, ${BUTTONS}` : FIELDS;
    if (event.key !== "Escape" && (event.target as Element).closest?.(ignored)) return false;
    return press(event, keys, true);
  }

  // --- models and views
  /** Return whether the group has a model. */
  used(): boolean {
    return this.members.size > 0;
  }

  /**
   * Register an open view; returns a function to call when it closes. A group without views drops
   * its run to free memory, since a notebook keeps the models of cleared outputs. It takes the run
   * from its models again when a view opens.
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

  /** Add the model of a view, which may publish the run. Returns a function that removes it. */
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
  /** Return the event that keys start from; hovering does not change it. */
  private base(): number {
    return (this.at.pin || this.at.key)?.step ?? -1;
  }

  private last(): number {
    return this.store.index().events.length - 1;
  }

  private within(step: number): number {
    return Math.max(0, Math.min(this.last(), step));
  }

  /** Return the cursor's place: the pinned one, else the one under the pointer unless playing. */
  private place(): Place {
    const { pin, hover, key } = this.at;
    return pin || (this.playback.isPlaying ? key : hover || key) || NOWHERE;
  }

  /** Compute the cursor, and call the listeners if it has changed. */
  private notify() {
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
      playing: this.playback.isPlaying,
      speed: this.playback.speed,
    };
    const before = this.cursor;
    const names = Object.keys(next) as (keyof Cursor)[];
    if (names.every((name) => next[name] === before[name])) return;
    this.cursor = Object.freeze(next);
    this.listeners.notify(this.cursor, before);
  }

  /** Reset the cursor for another run; keep it for a more complete copy of the same run. */
  private onReset() {
    const isSameRun = this.store.run === this.run;
    this.run = this.store.run;
    if (!isSameRun) {
      this.isFollowing = false;
      this.playback.stop();
      this.lit = null;
    }
    for (const name of ["hover", "key", "pin"] as const) {
      const place = this.at[name];
      this.at[name] = isSameRun && place ? locate(this.store, { step: place.step }) : null;
    }
    this.notify();
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
    this.notify();
    this.isForgotten = true;
  }
}

export const createGroup = () => new Group();

/** Groups of the page, by name. */
export const groups = new Map<string, Group>();

/** Return the group of a name, created if necessary; without a name, a new group. */
export function hsdGroup(name: string | undefined): Group {
  if (!name) return createGroup();
  const group = groups.get(name) ?? createGroup();
  groups.set(name, group);
  return group;
}

/** Delete a group that has no models. */
export function release(name: string) {
  if (groups.get(name)?.used() === false) groups.delete(name);
}
