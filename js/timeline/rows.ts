// The rows of the timeline's strip: target rounds, their tokens by source, the draft tokens of each
// database, a lane of calls per level, and idle time.

import { nothing, svg } from "lit-html";
import { drafterName } from "../lib/drafter_names";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Call, Round } from "../lib/tables";
import { duration, timeShare } from "../lib/words";
import { callText } from "./said";
import { type Sight, xOf } from "./sight";
import {
  barsOf,
  gapsOf,
  type Lane,
  lanesOf,
  type Supply,
  suppliesOf,
  type TimeSpan,
} from "./spans";

const HIGH = { rounds: 22, tokens: 44, source: 36, calls: 36, idle: 20 };
/** Width of a letter of a number and of a call's label, and the room around them, in pixels. */
const NUMBER = { letter: 7, room: 9 };
const WORDS = { letter: 6.6, room: 8 };
/** Width from which a bar is separated from its neighbour, and minimum width of a bar. */
const SEPARATE = 4;
const MIN_BAR_WIDTH = 0.75;
/** Minimum width and opacity of a call or a gap. */
const SEEN = { width: 1.5, shade: 0.6 };

/** Id of the pattern of tokens that were not accepted (drawing.ts). */
export const HATCH = "hsd-tl-hatch";

/** Shown rows: tokens and their sources, times, or all (undefined). */
export type Show = "supply" | "time" | undefined;

/** A row of the strip. */
export interface Row {
  name: string;
  more: string;
  family?: string;
  /** Height in pixels. */
  high: number;
  /** Spans that can be selected. */
  spans: TimeSpan[];
  /** Return the template of the visible part; `looked`: the marked call or gap. */
  picture(sight: Sight, looked: TimeSpan | null): unknown;
}
/** The rows of a run, with the data that they show. */
export interface Strip {
  rows: Row[];
  /** End of the run, and end of its prefill, at which the axis has 0; nanoseconds. */
  end: number;
  zero: number;
  /** All calls, sorted by start. */
  calls: Call[];
  supplies: Supply[];
  /** Explanation of the rows. */
  note: string;
  /** Whether calls are shown. */
  isTimed: boolean;
}
export const NO_STRIP: Strip = {
  rows: [],
  end: 1,
  zero: 0,
  calls: [],
  supplies: [],
  note: "",
  isTimed: false,
};

const byStart = (a: TimeSpan, b: TimeSpan) => a.start_ns - b.start_ns;
const endOf = ({ start_ns, duration_ns }: TimeSpan) => start_ns + duration_ns;
const barWidth = (width: number) => Math.max(MIN_BAR_WIDTH, width - (width > SEPARATE ? 1 : 0));

const bars = (spans: TimeSpan[], { from, to, scale }: Sight) =>
  barsOf(spans, from, to, (to - from) * scale);
type Bar = ReturnType<typeof bars>[number];
/** Return the opacity of a bar; for a bar of several spans, by the share of time that they fill. */
const shade = ({ count, busy }: Bar) => (count > 1 ? SEEN.shade + (1 - SEEN.shade) * busy : 1);
const seenWidth = ({ w }: Bar) => Math.max(SEEN.width, w);

const word = (x: number, y: number, words: string, cls: string) =>
  svg`<text x=${x} y=${y} class=${cls}>${words}</text>`;

/**
 * Return the path data of a round's column from `low` to `low + high` pixels above the foot of a
 * row; "" if it is not visible.
 */
export function columnPath(
  round: TimeSpan,
  { low, high, foot }: Record<"low" | "high" | "foot", number>,
  sight: Sight,
): string {
  if (!high || round.start_ns > sight.to || endOf(round) < sight.from) return "";
  const wide = barWidth(round.duration_ns * sight.scale).toFixed(1);
  const corner = `M${xOf(sight, round.start_ns).toFixed(1)} ${(foot - low).toFixed(1)}`;
  return `${corner}h${wide}v${(-high).toFixed(1)}h-${wide}z`;
}

function roundsRow(store: Store, tops: Round[]): Row {
  const bar = (b: Bar) => {
    const number = String(store.order.get(tops[b.first].id));
    const fits = b.count === 1 && b.w > NUMBER.room + NUMBER.letter * number.length;
    return svg`<rect x=${b.x} y="2" width=${barWidth(b.w)} height=${HIGH.rounds - 5}
      class=${b.count > 1 ? "hsd-tl-round hsd-many" : "hsd-tl-round"}></rect
      >${fits ? word(b.x + (b.w - 1) / 2, 14, number, "hsd-tl-number") : nothing}`;
  };
  return {
    name: "rounds",
    more: String(tops.length || ""),
    high: HIGH.rounds,
    spans: tops,
    picture: (sight) => bars(tops, sight).map(bar),
  };
}

/** Return the path data of the tokens of rounds, by source family. */
function tokenPaths(store: Store, palette: Palette, tops: Round[], unit: number, sight: Sight) {
  const { rounds, placeOf } = store.index();
  const paths = new Map<string, string>();
  const high = unit > 3 ? unit - 0.6 : unit;
  for (const round of tops) {
    const span = rounds[placeOf.get(round.id) ?? -1];
    for (let k = 0; k < (span?.count ?? 0); k++) {
      const family = palette.family(store.tokens[span.first + k].source);
      const path = columnPath(round, { low: k * unit, high, foot: HIGH.tokens }, sight);
      paths.set(family, (paths.get(family) ?? "") + path);
    }
  }
  return paths;
}

function tokensRow(store: Store, palette: Palette, tops: Round[]): Row {
  const largest = Math.max(0, ...store.index().rounds.map((span) => span.count));
  const unit = (HIGH.tokens - 6) / Math.max(1, largest);
  return {
    name: "tokens",
    more: `up to ${largest} per round`,
    high: HIGH.tokens,
    spans: tops,
    picture: (sight) =>
      [...tokenPaths(store, palette, tops, unit, sight)].map(
        ([family, d]) => svg`<path class="hsd-tl-token" data-family=${family} d=${d}></path>`,
      ),
  };
}

const sumOf = (counts: Map<number, number>) => [...counts.values()].reduce((a, b) => a + b, 0);

/** Return the row of a source; `most`: largest number of draft tokens of any source in a round. */
function supplyRow(palette: Palette, tops: Round[], supply: Supply, most: number): Row {
  const { source, drafted, accepted } = supply;
  const path = (counts: Map<number, number>, cls: string, sight: Sight) => {
    const high = ({ id }: Round) => ((counts.get(id) ?? 0) / most) * (HIGH.source - 6);
    const columns = tops.map((round) =>
      columnPath(round, { low: 0, high: high(round), foot: HIGH.source }, sight),
    );
    const fill = cls === "hsd-tl-hatch" ? `url(#${HATCH})` : nothing;
    return svg`<path class=${cls} fill=${fill} d=${columns.join("")}></path>`;
  };
  return {
    name: palette.words(source),
    more: `${sumOf(accepted)} of ${sumOf(drafted)} accepted`,
    high: HIGH.source,
    family: palette.family(source),
    spans: tops,
    picture: (sight) => [
      path(drafted, "hsd-tl-drafted", sight),
      path(drafted, "hsd-tl-hatch", sight),
      path(accepted, "hsd-tl-accepted", sight),
    ],
  };
}

const hasRoom = (words: string, width: number) => width > WORDS.room + WORDS.letter * words.length;
/** Return whether a visible bar is labelled with the number of tokens fed. */
export const hasNumber = (calls: readonly Call[], { from, to, scale }: Sight): boolean =>
  calls.some(
    (call) =>
      call.kind === "verify" &&
      endOf(call) > from &&
      call.start_ns < to &&
      hasRoom(String(call.fed), call.duration_ns * scale),
  );

function callBar(calls: Call[], b: Bar, looked: TimeSpan | null) {
  const call = calls[b.first];
  const isMany = b.count > 1;
  const on = !isMany && call === looked ? " hsd-on" : "";
  const cls = `hsd-tl-call hsd-${isMany ? "many" : call.kind}${on}`;
  const fits = callText(call).find((words) => !isMany && hasRoom(words, b.w));
  return svg`<rect x=${b.x} y="6" width=${seenWidth(b)} height=${HIGH.calls - 14} class=${cls}
    fill-opacity=${shade(b)}></rect
    >${fits ? word(b.x + b.w / 2, HIGH.calls / 2 + 3, fits, "hsd-tl-word") : nothing}`;
}

function laneRow({ name, calls, share, ns }: Lane, family: string | undefined): Row {
  return {
    name: drafterName(name) ?? name,
    more: `${timeShare(share)} · ${duration(ns)}`,
    high: HIGH.calls,
    family,
    spans: calls,
    picture: (sight, looked) => bars(calls, sight).map((b) => callBar(calls, b, looked)),
  };
}

function idleRow(gaps: TimeSpan[], end: number): Row {
  const idle = gaps.reduce((sum, gap) => sum + gap.duration_ns, 0);
  const bar = (b: Bar, looked: TimeSpan | null) => {
    const on = gaps[b.first] === looked ? " hsd-on" : "";
    return svg`<rect x=${b.x} y="0" width=${seenWidth(b)} height=${HIGH.idle - 6}
      class="hsd-tl-idle${on}" fill-opacity=${shade(b)}></rect>`;
  };
  return {
    name: "idle",
    more: timeShare(idle / end),
    high: HIGH.idle,
    spans: gaps,
    picture: (sight, looked) => bars(gaps, sight).map((b) => bar(b, looked)),
  };
}

/** Return the explanation of the rows. */
function noteOf(store: Store, hasSupplies: boolean, end: number, show: Show): string {
  if (!store.calls.length) return "";
  const shades = "Solid: accepted by the first verifier, hatched: drafted and not accepted. ";
  const ofSupply = `Tokens: those that a round emitted, by source. ${hasSupplies ? shades : ""}`;
  const kind = store.levels[0]?.endsWith("(simulated)")
    ? "Simulated: look-ups for likely outcomes beside the verification before"
    : "Calls do not overlap";
  const share = `Shares are of ${duration(end)}, prefill included.`;
  const ofTime = `${share} ${kind}; idle: sampling, verification, bookkeeping.`;
  return `${show === "time" ? "" : ofSupply}${show === "supply" ? "" : ofTime}`;
}

/** Return the rows of the tokens and of their sources. */
function supplyRows(store: Store, palette: Palette, tops: Round[], supplies: Supply[]): Row[] {
  const largest = Math.max(1, ...supplies.flatMap(({ drafted }) => [...drafted.values()]));
  const sources = supplies.map((supply) => supplyRow(palette, tops, supply, largest));
  return store.tokens.length ? [tokensRow(store, palette, tops), ...sources] : sources;
}

/** Return the lanes of calls per level and name, and the row of idle time. */
function timeRows(palette: Palette, tops: Round[], calls: Call[], end: number): Row[] {
  const target = Math.max(0, ...tops.map((round) => round.level));
  const familyOf = ({ name, level }: Lane) => {
    if (name === "db" || name === "hd") return undefined;
    return palette.family(level === target ? "target" : name);
  };
  const lanes = lanesOf(calls, end).map((lane) => laneRow(lane, familyOf(lane)));
  return [...lanes, idleRow(gapsOf(calls, end), end)];
}

/** Return the strip of a run; `databases` are the names of databases in their order. */
export function stripOf(
  store: Store,
  palette: Palette,
  databases: readonly string[],
  show: Show,
): Strip {
  const tops = [...store.order.keys()].map((id) => store.rounds.get(id) as Round).sort(byStart);
  const calls = [...store.calls].sort(byStart);
  const lasts = [...calls.slice(-1), ...tops.slice(-1)].map(endOf);
  const end = Math.max(1, ...lasts, store.meta.wall_ns ?? 0);
  const isDatabase = (source: string) =>
    databases.includes(source) || palette.family(source) === "baseline";
  const supplies = suppliesOf(store, isDatabase, databases);
  const rows = [roundsRow(store, tops)];
  if (show !== "time") rows.push(...supplyRows(store, palette, tops, supplies));
  if (show !== "supply") rows.push(...timeRows(palette, tops, calls, end));
  const note = noteOf(store, supplies.length > 0, end, show);
  const zero = tops[0]?.start_ns ?? 0;
  return { rows, end, zero, calls, supplies, note, isTimed: show !== "supply" };
}
