// The rows of the timeline's strip: target rounds, their tokens by source, what each database
// drafted, a lane of calls per level, and idle time.
import { nothing, svg } from "lit-html";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Call, Round } from "../lib/tables";
import { duration } from "../lib/words";
import { callWords } from "./said";
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
/** Letters of a number and of a call's words, with the room around them. */
const NUMBER = { letter: 7, room: 9 };
const WORDS = { letter: 6.6, room: 8 };
/** A bar is separated from its neighbour where it is wide enough. */
const SEPARATE = 4;
const LEAST = 0.75;
/** The least width and opacity at which a call or a gap is seen. */
const SEEN = { width: 1.5, shade: 0.6 };

/** The pattern of what was not accepted (drawing.ts). */
export const HATCH = "hsd-tl-hatch";

/** Which rows are shown: of the tokens and their sources, of the time, or all. */
export type Show = "supply" | "time" | undefined;

/** A row of the strip. */
export interface Row {
  name: string;
  more: string;
  family?: string;
  /** Its height in pixels. */
  high: number;
  /** What can be pointed at. */
  spans: TimeSpan[];
  /** Its picture; `looked`: the call or gap that is marked. */
  picture(sight: Sight, looked: TimeSpan | null): unknown;
}
/** The rows of a run, and what they were made from. */
export interface Strip {
  rows: Row[];
  /** The end of the run, and of its prefill: where the time of the axis is 0. */
  end: number;
  zero: number;
  /** All calls by their starts. */
  calls: Call[];
  supplies: Supply[];
  /** How the rows are read. */
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
const percent = (x: number) => `${(100 * x).toFixed(x > 0 && x < 0.0995 ? 1 : 0)} %`;
const barWidth = (width: number) => Math.max(LEAST, width - (width > SEPARATE ? 1 : 0));

const bars = (spans: TimeSpan[], { from, to, scale }: Sight) =>
  barsOf(spans, from, to, (to - from) * scale);
type Bar = ReturnType<typeof bars>[number];
/** The shade of a bar: of several spans, by the share of its time that they fill. */
const shade = ({ count, busy }: Bar) => (count > 1 ? SEEN.shade + (1 - SEEN.shade) * busy : 1);
const seenWidth = ({ w }: Bar) => Math.max(SEEN.width, w);

const word = (x: number, y: number, words: string, cls: string) =>
  svg`<text x=${x} y=${y} class=${cls}>${words}</text>`;

/**
 * Path data of a round's column from `low` to `low + high` above the foot of a row; "" out of view.
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

/** Path data of the tokens of rounds, by the families of their sources. */
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
  const most = Math.max(0, ...store.index().rounds.map((span) => span.count));
  const unit = (HIGH.tokens - 6) / Math.max(1, most);
  return {
    name: "tokens",
    more: `up to ${most} per round`,
    high: HIGH.tokens,
    spans: tops,
    picture: (sight) =>
      [...tokenPaths(store, palette, tops, unit, sight)].map(
        ([family, d]) => svg`<path class="hsd-tl-token" data-family=${family} d=${d}></path>`,
      ),
  };
}

const sumOf = (counts: Map<number, number>) => [...counts.values()].reduce((a, b) => a + b, 0);

/** The row of a source; `most`: the most that one of them drafted in a round. */
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
/** Whether a bar in view has the number of tokens that its pass was fed. */
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
  const fits = callWords(call).find((words) => !isMany && hasRoom(words, b.w));
  return svg`<rect x=${b.x} y="6" width=${seenWidth(b)} height=${HIGH.calls - 14} class=${cls}
    fill-opacity=${shade(b)}></rect
    >${fits ? word(b.x + b.w / 2, HIGH.calls / 2 + 3, fits, "hsd-tl-word") : nothing}`;
}

function laneRow({ name, calls, share, ns }: Lane, family: string | undefined): Row {
  return {
    name,
    more: `${percent(share)} · ${duration(ns)}`,
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
    more: percent(idle / end),
    high: HIGH.idle,
    spans: gaps,
    picture: (sight, looked) => bars(gaps, sight).map((b) => bar(b, looked)),
  };
}

/** How the rows are read. */
function noteOf(store: Store, hasSupplies: boolean, end: number, show: Show): string {
  if (!store.calls.length) return "";
  const shades = "Solid: accepted by the first verifier, hatched: drafted and not accepted. ";
  const ofSupply = `Tokens: those that a round emitted, by source. ${hasSupplies ? shades : ""}`;
  const kind = store.levels[0]?.endsWith("(simulated)")
    ? "Simulated: look-ups for likely outcomes beside the verification before"
    : "Calls do not overlap";
  const share = `Share: the lane’s time over ${duration(end)}, prefill included.`;
  const rest = "idle time is sampling, verification and bookkeeping";
  const ofTime = `${share} ${kind}; ${rest}.`;
  return `${show === "time" ? "" : ofSupply}${show === "supply" ? "" : ofTime}`;
}

/** Rows of the tokens and of their sources. */
function supplyRows(store: Store, palette: Palette, tops: Round[], supplies: Supply[]): Row[] {
  const most = Math.max(1, ...supplies.flatMap(({ drafted }) => [...drafted.values()]));
  const sources = supplies.map((supply) => supplyRow(palette, tops, supply, most));
  return store.tokens.length ? [tokensRow(store, palette, tops), ...sources] : sources;
}

/** A lane per level and name, and what is between the calls. */
function timeRows(palette: Palette, tops: Round[], calls: Call[], end: number): Row[] {
  const target = Math.max(0, ...tops.map((round) => round.level));
  const familyOf = ({ name, level }: Lane) => {
    if (name === "db" || name === "hd") return undefined;
    return palette.family(level === target ? "target" : name);
  };
  const lanes = lanesOf(calls, end).map((lane) => laneRow(lane, familyOf(lane)));
  return [...lanes, idleRow(gapsOf(calls, end), end)];
}

/** The strip of a run; `databases` are the names of its databases in their order. */
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
