// Two or three runs of one prompt as figures: whether they can be compared, whether their texts agree and must, and their metrics
// with the differences to the first run. Pure.
import { factsOf as runFacts, samplingWords } from "../lib/facts";
import { callSums, impossible, type Metrics, metricsOf } from "../lib/metrics";
import type { Snapshot, Store } from "../lib/run";
import { createStore } from "../lib/run";
import { draftsWithModels, isPlain, type Sources } from "../lib/stack";
import { glyphs, plural } from "../lib/words";

export interface FigureRow {
  name: string;
  definition: string;
  /** One of the times that sum to the row above. */
  part: boolean;
  cells: { value: string; difference: string }[];
}
/** A run compared with a reference: `at` is the first different output position, or null. */
export interface Agreement {
  run: number;
  against: number;
  at: number | null;
  state: "same" | "apart" | "broken";
  words: string;
  why: string;
}

export const MOST = 3;
export const LETTERS = "ABC";
/** Top-2 logit gap below which rounding may decide between two tokens. */
const NEAR_TIE = 1e-3;
/** Meta fields that affect times and rounding. */
const MACHINE = ["device_name", "device", "dtype", "threads", "runtime"] as const;

export const storesOf = (runs: Snapshot[]) =>
  runs.map((run, k) => {
    const store = createStore(LETTERS[k]);
    store.adopt(run);
    return store;
  });
export const stackOf = (run: Store) => run.meta.stack || "an unknown stack";

export function countRefusal(n: number): string {
  if (n === 0) return "No runs: select two or three of one prompt.";
  return `${n === 1 ? "One run is" : `${n} runs are`} too ${n < 2 ? "few" : "many"} to compare: select two or three.`;
}

/** Why these runs cannot be compared; "" if they can. */
export function refusalOf(runs: Store[]): string {
  if (runs.length < 2 || runs.length > MOST) return countRefusal(runs.length);
  const empty = runs.find((run) => !run.tokens.length || !run.order.size);
  if (empty) return `Run ${empty.letter} (${stackOf(empty)}) has no rounds: it ended before its first token.`;
  const differing = (of: (run: Store) => string) => {
    const other = runs.find((run) => of(run) !== of(runs[0]));
    return other ? [of(runs[0]), of(other)] : null;
  };
  const short = (run: Store) => {
    const text = run.prompt.split(/\s+/).filter(Boolean).join(" ");
    return `“${text.slice(0, 30)}${text.length > 30 ? "…" : ""}”${run.meta.chat ? " as a chat turn" : ""}`;
  };
  const ids = new Set(runs.filter((run) => run.promptIds.length).map((run) => run.promptIds.join()));
  if (differing((run) => `${run.meta.chat} ${run.prompt}`) || ids.size > 1) {
    const other = runs.find(
      (run) => run.prompt !== runs[0].prompt || run.promptIds.join() !== runs[0].promptIds.join(),
    );
    return `These runs have different prompts, ${short(runs[0])} and ${short(other ?? runs[1])}: their positions do not correspond.`;
  }
  const targets = differing(targetOf);
  if (targets) return `These runs have different targets, ${targets.join(" and ")}: compare runs of one target.`;
  const sampling = differing((run) => samplingWords(run.meta.sampling));
  if (sampling)
    return `These runs have different sampling, ${sampling.join(" and ")}: compare runs of one sampling and one seed.`;
  return "";
}

function targetOf({ meta }: Store): string {
  const last = meta.models?.at(-1);
  if (!last) return meta.stack.split(">").at(-1)?.trim() || "unknown";
  return `${last.model || last.name}${last.weights ? ` (weights ${last.weights})` : ""}`;
}

const greedy = (run: Store) => !run.meta.sampling?.temperature;
/**
 * Whether two runs must have equal texts: greedy decoding has one text, and above temperature 0 point-mass drafts draw each position
 * with the same random number as plain decoding; draft models use additional ones.
 */
export const mustAgree = (one: Store, other: Store, sources: Sources) =>
  greedy(one) || !(draftsWithModels(one.meta.stack, sources) || draftsWithModels(other.meta.stack, sources));

/** The first position where two texts differ, null if they agree over their common length; an end of text differs from more text. */
export function firstDifference(one: Store, other: Store): number | null {
  const [a, b] = [one.tokens, other.tokens];
  const common = Math.min(a.length, b.length);
  for (let k = 0; k < common; k++) if (a[k].token_id !== b[k].token_id) return k;
  const shorter = a.length < b.length ? one : other;
  return a.length !== b.length && shorter.meta.stop_reason === "eos" ? common : null;
}

/** Compare each run after the first with an earlier one: with one that it must agree with, else the first. */
export function agreementOf(runs: Store[], sources: Sources): Agreement[] {
  return runs.slice(1).map((run, i) => {
    const found = runs.slice(0, i + 1).findIndex((earlier) => mustAgree(earlier, run, sources));
    const against = Math.max(0, found);
    const one = runs[against];
    const must = mustAgree(one, run, sources);
    const at = firstDifference(one, run);
    const state = at === null ? "same" : must ? "broken" : "apart";
    return { run: i + 1, against, at, state, ...agreementWords(one, run, at, must) } as Agreement;
  });
}

function agreementWords(one: Store, other: Store, at: number | null, must: boolean) {
  const [a, b] = [one.letter, other.letter];
  if (at === null) {
    const common = Math.min(one.tokens.length, other.tokens.length);
    const far =
      one.tokens.length === other.tokens.length
        ? "token for token"
        : `token for token over the common length (${common} tokens)`;
    const why = greedy(one)
      ? "greedy decoding has one text"
      : "without a draft model each output position is drawn with the same random number";
    return {
      words: `${b} has the same text as ${a}, ${far}.`,
      why: must ? `Required: ${why}.` : "With draft models only the distribution must agree.",
    };
  }
  const said = (run: Store) => (at < run.tokens.length ? `has “${glyphs(run.tokens[at].text)}”` : "has ended");
  const differ = `${b} differs from ${a} from output position ${at + 1}: ${a} ${said(one)}, ${b} ${said(other)}.`;
  if (must)
    return {
      words: `${differ} Not allowed: ${greedy(one) ? "both use greedy decoding" : "neither has a draft model"}.`,
      why: cause(one, other, at),
    };
  return {
    words: differ,
    why: "Expected: above temperature 0, lossless means equal in distribution. Draft models use additional random numbers, so one seed gives different texts.",
  };
}

/** A possible cause of a difference that is not allowed. */
function cause(one: Store, other: Store, at: number): string {
  const [first, second] = (one.tokens[at] ?? other.tokens[at])?.top ?? [];
  if (first && second && first[1] > 0 && second[1] > 0) {
    const gap = Math.log(first[1] / second[1]);
    if (gap < NEAR_TIE)
      return `The target’s top-2 logit gap there is ${gap.toExponential(0)}: a near-tie, decided by rounding.`;
  }
  const unlike = MACHINE.filter((name) => one.meta[name] !== other.meta[name]).map((name) => name.replace("_", " "));
  return unlike.length
    ? `The runs differ in ${unlike.join(" and ")}, which changes rounding.`
    : "Not a near-tie of the target, and both ran in the same way: this is a bug.";
}

/** A warning if the runs' machines differ, or "". */
export function machineNote(runs: Store[]): string {
  const name = MACHINE.find((field) => new Set(runs.map((run) => run.meta[field])).size > 1);
  if (!name) return "";
  const found = runs.map((run) => `${run.letter}: ${run.meta[name] ?? "not recorded"}`).join(", ");
  return `Times are not comparable: the runs differ in ${name.replace("_", " ")} (${found}).`;
}

/** What the runs have in common: their prompt, and the facts of the first. */
export const factsOf = ({ meta, tokens }: Store) => [
  `one prompt, ${plural(tokens.length, "token")}`,
  ...runFacts(meta, true),
];

// --- metrics

const ms = (x: number) => (x < 1 ? `${(1e3 * x).toFixed(1)} ms` : `${x.toFixed(2)} s`);
const us = (x: number) => (x < 1e-3 ? `${(1e6 * x).toFixed(0)} µs` : ms(x));
const whole = (x: number) => x.toFixed(0);
const percent = (x: number) => `${(100 * x).toFixed(0)}%`;
/** A signed difference; one that rounds to zero is ±0. */
export function signed(x: number, write: (x: number) => string): string {
  const words = write(Math.abs(x));
  return words === write(0) ? "±0" : `${x > 0 ? "+" : "−"}${words}`;
}
type Write = (x: number) => string;
type Differ = (x: number, first: number) => string;
const less =
  (write: Write): Differ =>
  (x, first) =>
    signed(x - first, write);
const points: Differ = (x, first) => `${signed(100 * (x - first), whole)} points`;

type Of = (m: Metrics, run: Store) => number | null;
const ROWS: [name: string, definition: string, of: Of, write: Write, differ: Differ][] = [
  [
    "Speed",
    "Emitted tokens per second of wall time from the end of prefill. The difference is a ratio.",
    (m) => m.tokens_per_second,
    (x) => `${whole(x)} tokens/s`,
    (x, first) => (first ? `${(x / first).toFixed(2)} × ${LETTERS[0]}` : ""),
  ],
  [
    "Target forward passes",
    "Forward passes of the target after prefill. Plain decoding needs one per token.",
    (m) => m.target_forwards,
    whole,
    less(whole),
  ],
  [
    "Mean acceptance length",
    "Emitted tokens per target forward pass, bonus tokens included. Plain decoding: 1.00.",
    (m) => m.mean_acceptance_length,
    (x) => x.toFixed(2),
    less((x) => x.toFixed(2)),
  ],
  [
    "Acceptance rate",
    "Accepted / drafted tokens at the target. Low for wide draft trees, of which only one branch can be accepted.",
    (m) => m.acceptance_rate,
    percent,
    points,
  ],
  [
    "Repetition",
    "Share of emitted tokens that end an 8-gram repeated in the output. Repetition favours drafting.",
    (m) => m.repetition_share,
    percent,
    points,
  ],
  [
    "Drafting latency",
    "Time per target round spent finding drafts and updating databases, without model forward passes.",
    (m) => m.draft_seconds_per_round || null,
    us,
    less(us),
  ],
  [
    "Mean log-probability",
    "Mean ln p of the emitted tokens, p the target’s probability at temperature 1. Texts of one distribution have similar means.",
    (_, { tokens }) =>
      tokens.reduce((sum, t) => sum + Math.log(Math.max(t.p ?? NaN, 1e-12)), 0) / tokens.length || null,
    (x) => x.toFixed(2).replace("-", "−"),
    (x, first) => signed(x - first, (y) => y.toFixed(2)),
  ],
  [
    "Prefill",
    "Prefill of all models and databases; excluded from speed and race.",
    (m) => m.prefill_seconds,
    ms,
    less(ms),
  ],
  [
    "Decoding",
    "Wall time from the end of prefill to the end of the run: the sum of the times below.",
    (m) => m.seconds,
    ms,
    less(ms),
  ],
];

function rowOf(
  name: string,
  definition: string,
  values: (number | null)[],
  write: Write,
  differ: Differ,
  part = false,
): FigureRow {
  const cells = values.map((x, k) => ({
    value: x === null ? "–" : write(x),
    difference: k && x !== null && values[0] !== null ? differ(x, values[0]) : "",
  }));
  return { name, definition, part, cells };
}

/** The metrics of each run; the times of its levels sum to the decoding time. */
export function tableOf(runs: Store[]): FigureRow[] {
  const all = runs.map((run) => metricsOf(run));
  const rows = ROWS.map(([name, definition, of, write, differ]) =>
    rowOf(
      name,
      definition,
      all.map((m, k) => of(m, runs[k])),
      write,
      differ,
    ),
  );
  return [...rows, ...partsOf(runs, all)];
}

function partsOf(runs: Store[], all: Metrics[]): FigureRow[] {
  const order = new Map<string, number>();
  const looks = new Set<string>();
  const spent = runs.map((run) => {
    const mine = new Map<string, number>();
    const sums = callSums(run.calls);
    const top = Math.max(0, ...sums.map((c) => c.level));
    for (const { level, name, kind, seconds } of sums) {
      // Counted from the target down, so that levels align between stacks.
      order.set(name, Math.max(order.get(name) ?? 0, top - level));
      if (kind === "prefill") continue;
      mine.set(name, (mine.get(name) ?? 0) + seconds);
      if (kind === "lookup" || kind === "update") looks.add(name);
    }
    return mine;
  });
  const names = [...new Set(spent.flatMap((mine) => [...mine.keys()]))].sort(
    (a, b) =>
      Number(looks.has(a)) - Number(looks.has(b)) || (order.get(a) ?? 0) - (order.get(b) ?? 0) || (a < b ? -1 : 1),
  );
  const rows = names.map((name) =>
    rowOf(
      `in ${name}`,
      `${looks.has(name) ? "Look-ups and updates of" : "Forward passes of"} ${name} after prefill.`,
      spent.map((mine) => mine.get(name) ?? null),
      ms,
      less(ms),
      true,
    ),
  );
  const rest = all.map((m, k) => m.seconds - [...spent[k].values()].reduce((a, b) => a + b, 0));
  const words = "Decoding time without a call: sampling, verification, draft trees and bookkeeping.";
  return [...rows, rowOf("between calls", words, rest, ms, less(ms), true)];
}

/** A warning if a speed-up over plain decoding exceeds the acceptance length, else "". */
export function doubtOf(runs: Store[]): string {
  const all = runs.map((run) => metricsOf(run));
  const plain = all.filter((_, k) => isPlain(stackOf(runs[k]))).map((m) => m.tokens_per_second);
  const said = all.flatMap((m, k) => {
    const over = Math.max(0, ...plain.map((p) => (p && m.tokens_per_second ? m.tokens_per_second / p : 0)));
    return impossible(over, m.mean_acceptance_length)
      ? [
          `${LETTERS[k]} has ${over.toFixed(2)} times the speed of plain decoding at ${m.mean_acceptance_length?.toFixed(2)} tokens per forward pass`,
        ]
      : [];
  });
  return said.length ? `${said.join("; ")}: the plain run was disturbed. Decode again on an idle machine.` : "";
}
