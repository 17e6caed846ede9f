// Timeline geometry: lanes, gaps, drafts by source, visible spans. Times are in nanoseconds. Pure
// functions.
import type { Store } from "../lib/run";
import type { Call } from "../lib/tables";
import { duration } from "../lib/words";

/** A start and a duration. */
export type TimeSpan = Pick<Call, "start_ns" | "duration_ns">;
export interface Lane {
  level: number;
  name: string;
  calls: Call[];
  ns: number;
  share: number;
}
/** Return a lane per level and name, target first. `share`: the time of its calls over `wall`. */
export function lanesOf(calls: Call[], wall: number): Lane[] {
  const lanes = new Map<string, Lane>();
  for (const c of calls) {
    const key = `${c.level} ${c.name}`;
    const lane = lanes.get(key) ?? { level: c.level, name: c.name, calls: [], ns: 0, share: 0 };
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

/** Numbers of draft tokens of a source, by target round. */
export interface Supply {
  source: string;
  drafted: Map<number, number>;
  accepted: Map<number, number>;
}
/**
 * Count the draft tokens of each source per target round, at their first verifier, which in a
 * hierarchy may verify several times per target round. Databases and baselines are in the order of
 * `order`, then by name.
 */
export function suppliesOf(
  store: Store,
  isDatabase: (source: string) => boolean,
  order: readonly string[],
): Supply[] {
  const drafts = [...store.drafts.values()].flat().filter((d) => isDatabase(d.source));
  const first = Math.min(...drafts.map((d) => d.level));
  const supplies = new Map<string, Supply>();
  const add = (counts: Map<number, number>, round: number) =>
    counts.set(round, (counts.get(round) ?? 0) + 1);
  for (const d of drafts) {
    const round = store.topRound(d.round);
    if (d.level !== first || round === null) continue;
    const supply = supplies.get(d.source) ?? {
      source: d.source,
      drafted: new Map(),
      accepted: new Map(),
    };
    supplies.set(d.source, supply);
    add(supply.drafted, round);
    if (d.verdict === "accepted") add(supply.accepted, round);
  }
  const rank = ({ source }: Supply) =>
    order.includes(source) ? order.indexOf(source) : order.length;
  return [...supplies.values()].sort((a, b) => rank(a) - rank(b) || (a.source < b.source ? -1 : 1));
}

/** Return the intervals of 0 … `end` without a call. */
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
 * Return the visible bars of `spans` (sorted, disjoint) between `from` and `to` on `width` pixels
 * as {x, w, first, count, busy}. Adjacent narrow spans are merged into one bar; `busy` is the share
 * of its time that they fill.
 */
export function barsOf(spans: TimeSpan[], from: number, to: number, width: number, least = 1.5) {
  const scale = width / (to - from);
  const out: { x: number; end: number; first: number; count: number; ns: number }[] = [];
  for (let k = firstEndingAfter(spans, from); k < spans.length && spans[k].start_ns < to; k++) {
    const s = spans[k];
    const x = (s.start_ns - from) * scale;
    const end = (s.start_ns + s.duration_ns - from) * scale;
    const bar = out.at(-1);
    if (bar && x < bar.end + 0.5 && (end - x < least || bar.end - bar.x < least)) {
      bar.end = Math.max(end, bar.end);
      bar.count += 1;
      bar.ns += s.duration_ns;
    } else out.push({ x, end, first: k, count: 1, ns: s.duration_ns });
  }
  return out.map(({ x, end, first, count, ns }) => {
    const left = Math.max(0, x);
    const busy = count > 1 ? Math.min(1, (ns * scale) / Math.max(end - x, 0.75)) : 1;
    return { x: left, w: Math.max(Math.min(width, end) - left, 0.75), first, count, busy };
  });
}
/** Return the index of the first sorted span that ends after `t`; their number if there is none. */
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

/** Return the span at `t`, else the nearest one within `slack`, else null. */
export function spanAt<S extends TimeSpan>(spans: S[], t: number, slack = 0): S | null {
  const k = firstEndingAfter(spans, t);
  const near = [spans[k - 1], spans[k]].filter(Boolean);
  const away = (s: S) => Math.max(s.start_ns - t, t - s.start_ns - s.duration_ns, 0);
  near.sort((a, b) => away(a) - away(b));
  return near.length && away(near[0]) <= slack ? near[0] : null;
}

/** Format a time before or after 0. */
export const clock = (ns: number): string => {
  if (Math.abs(ns) < 1) return "0";
  return ns < 0 ? `−${duration(-ns)}` : duration(ns);
};
/** Return labels of times, in one unit for all and with sufficient digits. */
export function timeText(times: readonly number[]): string[] {
  const step = (times[1] ?? 0) - (times[0] ?? 0) || 1e6;
  const largest = Math.max(Math.abs(times[0] ?? 0), Math.abs(times.at(-1) ?? 0));
  const [unit, name] =
    largest >= 1e9 && step >= 1e7
      ? [1e9, "s"]
      : largest >= 1e6 && step >= 1e3
        ? [1e6, "ms"]
        : [1e3, "µs"];
  const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  return times.map((ns) => `${(ns / unit).toFixed(digits).replace("-", "−")} ${name}`);
}
