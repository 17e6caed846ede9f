// The guided tour: stops in the bundled recordings, with the values of the recording shown (hsd_viz/views/tour.json).
import stops from "../../hsd_viz/views/tour.json";
import { gainOf, metricsOf } from "../lib/metrics";
import type { Store } from "../lib/run";
import { duration, glyphs, plural } from "../lib/words";

/** A stop: paragraphs with {values} of its event, its tab, and the selectors of the outlined element. */
export interface Stop {
  key: string;
  title: string;
  recording: string;
  /** The number of its event in the recording, found by tools/tour.py. */
  step: number;
  tab: string;
  targets: string[];
  text: string[];
}
export const STOPS = stops as Stop[];
export const KEYS = STOPS.map((stop) => stop.key);

const three = (x: number | null | undefined) => (x ?? 0).toFixed(3);
const quoted = (text: string) => `“${glyphs(text)}”`;

/** The values of a run, and of one of its events and its round, as text. */
export function valuesAt(store: Store, step: number): Record<string, string> {
  const event = store.index().events[step];
  const row = event.draft;
  const m = metricsOf(store);
  const drafts = store.drafts.get(event.round) ?? [];
  const calls = store.calls.filter((c) => c.round === event.round);
  const own = store.tokens.find((t) => t.round === event.round && t.depth === 0);
  const sumOf = (kind: string, of: "duration_ns" | "fed") =>
    calls.reduce((sum, c) => sum + (c.kind === kind ? c[of] : 0), 0);
  const spent = (kind: string) => duration(sumOf(kind, "duration_ns"));
  const gain = gainOf(store, m);
  const speed = (m.tokens_per_second ?? 0).toFixed(0);
  const wall = store.meta.wall_ns || 1;
  const shares = new Map<string, number>();
  const passes = new Map<string, number>();
  for (const c of [...store.calls].sort((a, b) => b.level - a.level)) {
    shares.set(c.name, (shares.get(c.name) ?? 0) + c.duration_ns);
    if (c.steps && (c.kind === "draft" || c.kind === "verify")) passes.set(c.name, (passes.get(c.name) ?? 0) + c.steps);
  }
  const each = (counts: Iterable<[string, number]>, words: (name: string, n: number) => string) =>
    [...counts].map(([name, n]) => words(name, n)).join(", ");
  const percent = (x: number | null) => `${Math.round(100 * (x ?? 0))}%`;
  const source = (row ?? drafts[0])?.source ?? store.tokens[event.token].source;
  return {
    stack: store.meta.stack,
    temperature: String(store.meta.sampling.temperature ?? 0),
    length: plural(m.tokens, "token"),
    rounds: plural(m.target_forwards, "forward pass"),
    mean_length: m.mean_acceptance_length?.toFixed(2) ?? "–",
    run_accepted: String(m.accepted),
    run_drafted: String(m.drafted),
    rate: percent(m.acceptance_rate),
    speed,
    against: `this run reached ${speed} tokens/s${gain ? `, plain decoding ${store.meta.plain?.tokens_per_second?.toFixed(0)}: ${gain.value.toFixed(2)} times the speed` : ""}`,
    sources: each(Object.entries(m.emitted_by_source), (name, n) => `${n} ${name}`),
    shares: each(shares, (name, ns) => `${name} ${percent(ns / wall)}`),
    passes: each([...passes].reverse(), (name, n) => `${n} of ${name}`),
    drafted: plural(drafts.length, "token"),
    tokens: drafts.map((d) => quoted(d.text)).join(", "),
    accepted: `${drafts.filter((d) => d.verdict === "accepted").length} of ${drafts.length}`,
    unreached: plural(drafts.filter((d) => d.verdict === "unreached").length, "token"),
    fed: plural(sumOf("verify", "fed"), "token"),
    drafting: spent("draft"),
    verifying: spent("verify"),
    lookup: spent("lookup"),
    source,
    token: own ? quoted(own.text) : "",
    p_token: percent(own?.p ?? 0),
    p: three(row?.p),
    q: three(row?.q),
    u: three(row?.u),
    uq: three((row?.u ?? 0) * (row?.q ?? 0)),
    draft: row ? quoted(row.text) : "",
    key: plural(row?.key_length ?? 0, "token"),
    position: String(row?.position ?? ""),
  };
}

/** The paragraphs of a stop in its run. */
export function textOf(stop: Stop, store: Store): string[] {
  const values = valuesAt(store, stop.step);
  return stop.text.map((text) => text.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ""));
}
