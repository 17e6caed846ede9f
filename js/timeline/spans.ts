// Timeline geometry: lanes, gaps, drafts by source, visible spans, zooming. All times are nanoseconds. Pure.
import type { Store } from "../lib/run";
import type { Call } from "../lib/tables";

/** Something with a start and a duration. */
export interface TimeSpan {
  start_ns: number;
  duration_ns: number;
}
export interface Lane {
  key: string;
  level: number;
  name: string;
  calls: Call[];
  ns: number;
  share: number;
}
/** A part of the time axis. */
export interface Range {
  from: number;
  to: number;
}

/** One lane per level and name, target first. `share` is its calls' time over `wall`. */
export function lanesOf(calls: Call[], wall: number): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const c of calls) {
    const key = `${c.level} ${c.name}`;
    const lane = lanes.get(key) ?? { key, level: c.level, name: c.name, calls: [], ns: 0, share: 0 };
    lanes.set(key, lane);
    lane.calls.push(c);
    lane.ns += c.duration_ns;
  }
  for (const lane of lanes.values()) {
    lane.calls.sort((a, b) => a.start_ns - b.start_ns);
    lane.share = wall ? lane.ns / wall : 0;
  }
  return [...lanes.values()].sort((a, b) => b.level - a.level || (a.name < b.name ? -1 : 1));
}

/** Draft tokens of a source in each target round. */
export interface Supply {
  source: string;
  drafted: Map<number, number>;
  accepted: Map<number, number>;
}
/**
 * What each source drafted per target round, counted at its first verifier: databases and baselines in the order of `order`, then by
 * name. Below a hierarchy a level verifies several times per target round.
 */
export function suppliesOf(store: Store, isDatabase: (source: string) => boolean, order: readonly string[]): Supply[] {
  const drafts = [...store.drafts.values()].flat().filter((d) => isDatabase(d.source));
  const first = Math.min(...drafts.map((d) => d.level));
  const found = new Map<string, Supply>();
  const add = (counts: Map<number, number>, round: number) => counts.set(round, (counts.get(round) ?? 0) + 1);
  for (const d of drafts) {
    const round = store.topRound(d.round);
    if (d.level !== first || round === null) continue;
    const one = found.get(d.source) ?? { source: d.source, drafted: new Map(), accepted: new Map() };
    found.set(d.source, one);
    add(one.drafted, round);
    if (d.verdict === "accepted") add(one.accepted, round);
  }
  const rank = ({ source }: Supply) => (order.includes(source) ? order.indexOf(source) : order.length);
  return [...found.values()].sort((a, b) => rank(a) - rank(b) || (a.source < b.source ? -1 : 1));
}

/** The intervals of 0…end without a call. */
export function gapsOf(calls: TimeSpan[], end: number) {
  const out = [];
  let over = 0;
  for (const c of [...calls].sort((a, b) => a.start_ns - b.start_ns)) {
    if (c.start_ns > over) out.push({ start_ns: over, duration_ns: c.start_ns - over });
    over = Math.max(over, c.start_ns + c.duration_ns);
  }
  if (end > over) out.push({ start_ns: over, duration_ns: end - over });
  return out;
}

/**
 * The visible bars of `spans` (sorted, disjoint) between `from` and `to` on `width` pixels: {x, w, first, count, busy}. Narrow spans
 * are merged into one bar; `busy` is the share of its time that they fill.
 */
export function barsOf(spans: TimeSpan[], from: number, to: number, width: number, least = 1.5) {
  const scale = width / (to - from);
  interface Bar {
    x: number;
    end: number;
    first: number;
    count: number;
    ns: number;
  }
  const out: Bar[] = [];
  let bar: Bar | null = null;
  for (let k = firstEndingAfter(spans, from); k < spans.length && spans[k].start_ns < to; k++) {
    const s = spans[k];
    const x = (s.start_ns - from) * scale;
    const end = (s.start_ns + s.duration_ns - from) * scale;
    if (bar && x < bar.end + 0.5 && (end - x < least || bar.end - bar.x < least)) {
      bar.end = Math.max(end, bar.end);
      bar.count += 1;
      bar.ns += s.duration_ns;
    } else {
      bar = { x, end, first: k, count: 1, ns: s.duration_ns };
      out.push(bar);
    }
  }
  return out.map((b) => {
    const left = Math.max(0, b.x);
    const w = Math.max(Math.min(width, b.end) - left, 0.75);
    return {
      x: left,
      w,
      first: b.first,
      count: b.count,
      busy: b.count > 1 ? Math.min(1, (b.ns * scale) / Math.max(b.end - b.x, 0.75)) : 1,
    };
  });
}

/** The index of the first sorted span that ends after `t`, or their number. */
export function firstEndingAfter(spans: TimeSpan[], t: number) {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (spans[mid].start_ns + spans[mid].duration_ns > t) high = mid;
    else low = mid + 1;
  }
  return low;
}

/** The span at `t`, or the nearest within `slack`, or null. */
export function spanAt<S extends TimeSpan>(spans: S[], t: number, slack = 0): S | null {
  const k = firstEndingAfter(spans, t);
  const near = [spans[k - 1], spans[k]].filter(Boolean);
  const away = (s: S) => Math.max(s.start_ns - t, t - s.start_ns - s.duration_ns, 0);
  near.sort((a, b) => away(a) - away(b));
  return near.length && away(near[0]) <= slack ? near[0] : null;
}

/** Axis ticks: at most `most`, spaced by 1, 2 or 5 times a power of ten. */
export function timeTicks(from: number, to: number, most: number) {
  const rough = (to - from) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough) || rough;
  const out = [];
  for (let k = Math.ceil(from / step); k * step <= to; k++) out.push(k * step);
  return { step, ticks: out };
}

/** The label of a tick on an axis with spacing `step`: one unit per axis, with sufficient digits. */
export function tickWords(ns: number, step: number, to: number) {
  const [unit, name]: [number, string] =
    to >= 1e9 && step >= 1e7 ? [1e9, "s"] : to >= 1e6 && step >= 1e3 ? [1e6, "ms"] : [1e3, "µs"];
  const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  return `${(ns / unit).toFixed(digits)} ${name}`;
}

/** The narrowest view: 20 µs. */
export const CLOSEST = 20_000;

/** A view {from, to} clipped to 0…end. */
export function viewWithin(from: number, width: number, end: number) {
  const w = Math.min(Math.max(width, Math.min(CLOSEST, end)), end);
  const a = Math.min(Math.max(from, 0), end - w);
  return { from: a, to: a + w };
}
/** Zoom the view by `factor` around the time `at`. */
export function zoomView(view: Range, factor: number, at: number, end: number) {
  const w = Math.min(Math.max((view.to - view.from) * factor, Math.min(CLOSEST, end)), end);
  const part = (at - view.from) / (view.to - view.from);
  return viewWithin(at - part * w, w, end);
}
export function panView(view: Range, by: number, end: number) {
  return viewWithin(view.from + by, view.to - view.from, end);
}
/** Move, and if needed widen, the view to show a span. */
export function viewWith(view: Range, start: number, ns: number, end: number) {
  const width = view.to - view.from;
  if (ns > 0.9 * width) return viewWithin(start - 0.15 * ns, 1.3 * ns, end);
  if (start >= view.from && start + ns <= view.to) return view;
  return viewWithin(start + ns / 2 - width / 2, width, end);
}
