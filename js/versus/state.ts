// The cursor, the clock, and whether the texts follow the race. Pure.

import { type Listeners, listeners } from "../lib/listeners";
import type { Run } from "./race";
import { raceEnd } from "./race";

export interface RaceState {
  readonly runs: Run[];
  readonly longest: number;
  hover: number;
  key: number;
  pin: number;
  row: number;
  /** Time of the race, ns; later tokens are not shown yet. */
  t: number;
  end: number;
  playing: boolean;
  listeners: Listeners<["cursor" | "clock"]>;
  tell(what: "cursor" | "clock"): void;
  /** The selected position, else the last. */
  readonly at: number;
  readonly chosen: boolean;
  look(k: number, row?: number): void;
  go(k: number, row?: number): void;
  keep(k: number, row?: number): void;
  release(): void;
  set(t: number, playing?: boolean): void;
}

/** The shared cursor over output positions, and the race clock. */
export function createState(runs: Run[]): RaceState {
  const longest = Math.max(...runs.map((r) => r.tokens.length));
  const fewest = runs.reduce((best, r, i) => (r.rounds.length < runs[best].rounds.length ? i : best), 0);
  const state: RaceState = {
    runs,
    longest,
    hover: -1,
    key: -1,
    pin: -1,
    row: fewest,
    t: raceEnd(runs),
    end: raceEnd(runs),
    playing: false,
    listeners: listeners(),
    tell(what) {
      state.listeners.tell(what);
    },
    get at(): number {
      return [state.pin, state.hover, state.key, longest - 1].find((k) => k >= 0) ?? 0;
    },
    get chosen(): boolean {
      return state.pin >= 0 || state.hover >= 0 || state.key >= 0;
    },
    look(k: number, row?: number) {
      if (state.hover === k && (row === undefined || state.row === row)) return;
      state.hover = k;
      if (row !== undefined && state.pin < 0) state.row = row;
      state.tell("cursor");
    },
    go(k: number, row = state.row) {
      const to = Math.max(0, Math.min(longest - 1, k));
      Object.assign(state, { key: to, hover: -1, row, pin: state.pin >= 0 ? to : -1 });
      state.tell("cursor");
    },
    keep(k: number, row = state.row) {
      Object.assign(state, { pin: k, key: k >= 0 ? k : state.key, row });
      state.tell("cursor");
    },
    release() {
      Object.assign(state, { pin: -1, key: -1, hover: -1 });
      state.tell("cursor");
    },
    set(t: number, playing = state.playing) {
      Object.assign(state, { t: Math.max(0, Math.min(state.end, t)), playing });
      state.tell("clock");
    },
  };
  return state;
}

/**
 * Whether a pane follows the race: until the user scrolls, and again on request. `put(top)` records the race's scroll position,
 * `seen(top)` the pane's; a difference means that the user scrolled. `changed(on)` is called.
 */
export function createFollow(changed: (on: boolean) => void) {
  let placed = -1;
  const follow = {
    on: true,
    set(on: boolean) {
      if (on !== follow.on) {
        follow.on = on;
        changed(on);
      }
    },
    put(top: number) {
      placed = top;
    },
    seen(top: number) {
      if (Math.abs(top - placed) > 2) follow.set(false);
    },
  };
  return follow;
}

/** The scroll position of a pane of height `high` at `top` that shows a line with room below; `top` if it is visible. */
export function topFor(line: { top: number; bottom: number }, top: number, high: number) {
  if (line.top >= top && line.bottom <= top + high) return top;
  return Math.max(0, line.top - Math.max(0, high - (line.bottom - line.top)) / 3);
}
