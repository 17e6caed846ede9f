// The cursor in output positions, the clock, and whether the texts follow the race. Pure.

import type { Group } from "../lib/group";
import { type Listeners, listeners } from "../lib/listeners";
import type { Run } from "./race";
import { raceEnd } from "./race";

export interface RaceState {
  readonly runs: Run[];
  readonly longest: number;
  /** Output positions under the pointer, of the keys, and pinned; -1: none. The row is the run under the cursor. */
  readonly hover: number;
  readonly key: number;
  readonly pin: number;
  readonly row: number;
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
  close(): void;
}

/** The run with the fewest rounds: the one that the cursor starts in. */
export const fewest = (runs: { rounds: unknown[] }[]) =>
  runs.reduce((best, r, i) => (r.rounds.length < runs[best].rounds.length ? i : best), 0);

/** The group's cursor as output positions of `runs`, and the race clock. */
export function createState(group: Group, runs: Run[]): RaceState {
  const longest = Math.max(...runs.map((r) => r.tokens.length));
  const clamped = (k: number) => Math.max(0, Math.min(longest - 1, k));
  const state: RaceState = {
    runs,
    longest,
    t: raceEnd(runs),
    end: raceEnd(runs),
    playing: false,
    listeners: listeners(),
    tell: (what) => state.listeners.tell(what),
    get hover() {
      return group.cursor.hover?.token ?? -1;
    },
    get key() {
      return group.place()?.token ?? -1;
    },
    get pin() {
      return group.cursor.pinned ? group.cursor.token : -1;
    },
    get row() {
      return group.cursor.run;
    },
    get at() {
      return group.cursor.token >= 0 ? group.cursor.token : longest - 1;
    },
    get chosen() {
      return group.cursor.token >= 0;
    },
    look: (k, row) => group.hover(k < 0 ? null : { run: row ?? state.row, token: k }),
    go: (k, row = state.row) => group.go({ run: row, token: clamped(k) }),
    keep: (k, row = state.row) => group.pin(k < 0 ? null : { run: row, token: clamped(k) }),
    release: () => void group.release(true),
    set(t, playing = state.playing) {
      Object.assign(state, { t: Math.max(0, Math.min(state.end, t)), playing });
      state.tell("clock");
    },
    close: () => void group.listeners.delete(moved),
  };
  const moved = () => state.tell("cursor");
  group.listeners.add(moved);
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
