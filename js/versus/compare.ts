// Compares two or three runs of one prompt: whether they are comparable, whether their texts agree
// and have to, and their metrics with the differences to the first run. Pure functions.
import DEFINITIONS from "../lib/definitions.json";
import { runName } from "../lib/drafter_names";
import { RULES, factsOf as runFacts, samplingText } from "../lib/facts";
import { callSums, impossible, type Metrics, metricsOf } from "../lib/metrics";
import { type Store, storeOf } from "../lib/run";
import type { Snapshot } from "../lib/run_data";
import { draftsWithModels, isPlain, type Sources, targetOf } from "../lib/stack";
import { duration, glyphs, listed, plural, signed } from "../lib/words";

/** The result of comparing the text of a run with that of another one. */
export type Agreement = { state: "same" | "apart" | "broken"; words: string };
export const MAX_RUNS = 3;
/** Meta fields that affect times and rounding. */
const MACHINE = ["device_name", "device", "dtype", "threads", "runtime"] as const;

/** Return the letter that denotes a compared run in charts and sentences. */
export const letterOf = (k: number) => "ABC"[k] ?? "";
export const storesOf = (runs: Snapshot[]) => runs.map((run, k) => storeOf(run, letterOf(k)));
/** Describe a number of runs that cannot be compared. */
function amountOf(n: number): string {
  if (n === 0) return "No runs";
  return n === 1 ? "One run is too few" : `${n} runs are too many`;
}
export const countRefusal = (n: number) => `${amountOf(n)}: select two or three of one prompt.`;

/** Return why runs cannot be compared; "" if they can. */
export function refusalOf(runs: Store[]): string {
  if (runs.length < 2 || runs.length > MAX_RUNS) return countRefusal(runs.length);
  const empty = runs.find((run) => !run.tokens.length || !run.order.size);
  if (empty)
    return (
      `Run ${empty.letter} (${empty.meta.stack}) has no rounds: ` +
      "it ended before its first token."
    );
  const short = (text: string) => `“${text.replaceAll(/\s+/g, " ").slice(0, 30)}…”`;
  const target = ({ meta }: Store) => meta.models?.at(-1)?.weights ?? targetOf(meta.stack);
  const conditions: [what: string, of: (run: Store) => string, shown?: (run: Store) => string][] = [
    ["prompts", (run) => `${run.meta.chat} ${run.prompt}`, (run) => short(run.prompt)],
    ["targets", target],
    ["sampling", (run) => samplingText(run.meta.sampling)],
  ];
  for (const [what, of, shown = of] of conditions) {
    const differing = runs.find((run) => of(run) !== of(runs[0]));
    if (differing)
      return (
        `These runs have different ${what}, ${shown(runs[0])} and ${shown(differing)}: ` +
        "compare runs of one prompt, target, sampling and seed."
      );
  }
  return "";
}

const greedy = (run: Store) => !run.meta.sampling?.temperature;
/**
 * Return whether two runs must have equal texts. Greedy decoding has only one text. Above
 * temperature 0, runs with point-mass drafts draw each position with the same random number as
 * plain decoding, but draft models use additional random numbers.
 */
export const mustAgree = (one: Store, other: Store, sources: Sources) =>
  greedy(one) ||
  !(draftsWithModels(one.meta.stack, sources) || draftsWithModels(other.meta.stack, sources));

/**
 * Return the first position at which two texts differ; null if they agree over their common length.
 * An end of text differs from more text.
 */
export function firstDifference(one: Store, other: Store): number | null {
  const a = one.tokens;
  const b = other.tokens;
  const common = Math.min(a.length, b.length);
  for (let k = 0; k < common; k++) if (a[k].token_id !== b[k].token_id) return k;
  const shorter = a.length < b.length ? one : other;
  return a.length !== b.length && shorter.meta.stop_reason === "eos" ? common : null;
}

/**
 * Compare each run after the first with an earlier one: one that it must agree with, else the
 * first.
 */
export const agreementOf = (runs: Store[], sources: Sources) =>
  runs.slice(1).map((run, i): Agreement => {
    const reference =
      runs.slice(0, i + 1).find((earlier) => mustAgree(earlier, run, sources)) ?? runs[0];
    const must = mustAgree(reference, run, sources);
    const position = firstDifference(reference, run);
    const a = reference.letter;
    const b = run.letter;
    if (position === null) {
      const common = reference.tokens.length === run.tokens.length ? "" : " over the common length";
      const why = greedy(reference) ? "greedy decoding has one text" : "the same random numbers";
      const required = must ? `, as required: ${why}` : ", which draft models need not have";
      return { state: "same", words: `${b} has the same text as ${a}${common}${required}.` };
    }
    const has = ({ tokens }: Store) =>
      position < tokens.length ? `“${glyphs(tokens[position].text)}”` : "ended";
    const difference = `${b} differs from ${a} from output position ${position + 1}`;
    const differs = `${difference} (${a} ${has(reference)}, ${b} ${has(run)})`;
    if (must)
      return {
        state: "broken",
        words: `${differs}. Not allowed: a near-tie that rounding decided, or a bug.`,
      };
    const other = [reference, run]
      .map(({ meta }) => meta.sampling.rule ?? "token")
      .find((rule) => !RULES.includes(rule));
    const why = other
      ? `. The rule “${other}” is of another package: nothing here has checked ` +
        "whether its texts have the distribution of the target’s."
      : ", as a draft model may: equal in distribution, not in text.";
    return { state: "apart", words: `${differs}${why}` };
  });

/**
 * Return warnings: runs on different machines, or a speed-up over plain decoding that exceeds the
 * acceptance length.
 */
export function doubtsOf(runs: Store[]): string[] {
  const name = MACHINE.find((field) => new Set(runs.map((run) => run.meta[field])).size > 1);
  const values = runs
    .map((run) => `${run.letter}: ${run.meta[name ?? "device"] ?? "not recorded"}`)
    .join(", ");
  const all = runs.map((run) => metricsOf(run));
  const plain = Math.min(
    ...all.flatMap((m, k) => (isPlain(runs[k].meta.stack) ? [m.tokens_per_second ?? 0] : [])),
  );
  const disturbed = all.some((m) =>
    impossible((m.tokens_per_second ?? 0) / plain, m.mean_acceptance_length),
  );
  return [
    ...(name
      ? [`Times are not comparable: the runs differ in ${name.replace("_", " ")} (${values}).`]
      : []),
    ...(disturbed
      ? [
          "A run is faster than its tokens per forward pass allow: the plain run was disturbed. " +
            "Decode again on an idle machine.",
        ]
      : []),
  ];
}

/** Return the facts that the runs have in common: their prompt and the facts of the first. */
export function factsOf(runs: readonly Store[]): string[] {
  const lengths = runs.map(({ tokens }) => tokens.length);
  const least = Math.min(...lengths);
  const longest = Math.max(...lengths);
  const tokens =
    least === longest ? plural(longest, "token") : `${least} to ${plural(longest, "token")}`;
  return [`one prompt, ${tokens}`, ...runFacts(runs[0].meta, true)];
}

/** Return the title of the figures; texts longer than the race are pointed out. */
export function figuresTitle(lengths: readonly number[]): string {
  const title = "Figures of the whole runs";
  if (new Set(lengths).size === 1) return title;
  return `${title} of ${listed(lengths.map(String))} tokens`;
}

/** Return the run with the most tokens per second; the first among equals. */
export function bestOf(runs: Store[]): Store {
  const speed = (run: Store) => metricsOf(run).tokens_per_second ?? 0;
  return runs.reduce((most, run) => (speed(run) > speed(most) ? run : most));
}

/**
 * Return a headline about the fastest run, and about the one with the fewest target passes if that
 * is another. Runs have the names of their stacks, since letters belong to the charts below.
 */
export function fastestOf(runs: Store[]) {
  const measured = runs.map((run) => ({ run, ...metricsOf(run) }));
  const speed = (m: (typeof measured)[number]) => m.tokens_per_second ?? 0;
  const times = (m: (typeof measured)[number]) => speed(m) / speed(measured[0]);
  const best = measured.reduce((most, m) => (speed(m) > speed(most) ? m : most));
  const fewest = measured.reduce((least, m) =>
    m.target_forwards < least.target_forwards ? m : least,
  );
  const figure = `${hundredths(times(best))} ×`;
  const first = runName(measured[0].run);
  const compared = `the fastest of ${runs.length === 2 ? "two" : "three"} stacks on one prompt`;
  const leads =
    best === measured[0]
      ? `${first} is ${compared}.`
      : `the speed of ${first}, with ${runName(best.run)}: ${compared}.`;
  if (fewest === best) return { figure, words: leads };
  const passes = `${fewest.target_forwards} by ${runName(fewest.run)}`;
  const cost = times(fewest) < 1 ? "its drafts cost more than they save" : "its drafts cost more";
  const slower = `at ${hundredths(times(fewest))} ×: ${cost}`;
  return { figure, words: `${leads} Fewest target passes: ${passes}, ${slower}.` };
}

// --- metrics

const ms = (x: number) => duration(1e9 * x);
const integer = (x: number) => x.toFixed(0);
const hundredths = (x: number) => x.toFixed(2).replace("-", "−");
const percent = (x: number) => `${(100 * x).toFixed(0)}%`;
type Format = (x: number) => string;
type ValueOf = (m: Metrics, run: Store) => number | null;
const minus = (write: Format) => (x: number, first: number) => signed(x - first, write);
const points = (x: number, first: number) => `${signed(100 * (x - first), integer)} points`;

/**
 * A row: its name, its value in a run, and the formats of values and of their differences to the
 * first run.
 */
type Figure = [
  name: keyof typeof DEFINITIONS,
  group: "main" | "more",
  of: ValueOf,
  write: Format,
  differ?: (x: number, first: number) => string,
  /** Whether it is a sum over the text, so that texts of other lengths have no difference. */
  isSum?: boolean,
];
const meanLog = ({ tokens }: Store) =>
  tokens.reduce((sum, t) => sum + Math.log(Math.max(t.p ?? NaN, 1e-12)), 0) / tokens.length || null;
const ROWS: Figure[] = [
  [
    "Speed",
    "main",
    (m) => m.tokens_per_second,
    (x) => `${integer(x)} tokens/s`,
    (x, first) => (first ? `${hundredths(x / first)} × A` : ""),
  ],
  ["Time per token", "main", (m) => (m.tokens ? m.seconds / m.tokens : null), ms],
  ["Mean acceptance length", "main", (m) => m.mean_acceptance_length, hundredths],
  ["Acceptance rate", "main", (m) => m.acceptance_rate, percent, points],
  ["Target forward passes", "main", (m) => m.target_forwards, integer, minus(integer), true],
  ["Decoding", "more", (m) => m.seconds, ms, minus(ms), true],
  ["Repetition", "more", (m) => m.repetition_share, percent, points],
  ["Drafting latency", "more", (m) => m.draft_seconds_per_round || null, ms],
  ["Mean log-probability", "more", (_, run) => meanLog(run), hundredths],
];

/**
 * Return the metrics of each run, the main ones first. The times of its levels (target first) and
 * between calls sum to the duration of the decode.
 */
export function tableOf(runs: Store[]) {
  const all = runs.map((run) => metricsOf(run));
  /** Whether each run has as many tokens as the first. */
  const areEqual = runs.map(({ tokens }) => tokens.length === runs[0].tokens.length);
  const row = (
    name: string,
    definition: string,
    values: (number | null)[],
    write: Format,
    differ: Figure[4] = minus(write),
    isSum = false,
  ) => ({
    name,
    definition,
    cells: values.map((x, k) => ({
      value: x === null ? "–" : write(x),
      difference:
        !k || x === null || values[0] === null || (isSum && !areEqual[k])
          ? ""
          : differ(x, values[0]),
    })),
  });
  const spent = runs.map((run) => callSums(run.calls).filter((c) => c.kind !== "prefill"));
  const secondsOf = (k: number, name: string) => {
    const levelCalls = spent[k].filter((c) => c.name === name);
    return levelCalls.length ? levelCalls.reduce((sum, c) => sum + c.seconds, 0) : null;
  };
  const names = [...new Set(spent.flatMap((own) => own.map((c) => c.name).reverse()))];
  const betweenCalls = runs.map((_, k) =>
    names.reduce((left, name) => left - (secondsOf(k, name) ?? 0), all[k].seconds),
  );
  const times = names.map((name) => {
    const seconds = runs.map((_, k) => secondsOf(k, name));
    const definition = `Forward passes or look-ups of ${name} after prefill.`;
    return row(`in ${name}`, definition, seconds, ms, minus(ms), true);
  });
  const between = row(
    "between calls",
    DEFINITIONS["between calls"],
    betweenCalls,
    ms,
    minus(ms),
    true,
  );
  const figures = ROWS.map(([name, group, of, ...how]) => {
    const values = all.map((m, k) => of(m, runs[k]));
    return { group, ...row(name, DEFINITIONS[name], values, ...how) };
  });
  const parts = [...times, between].map((part) => ({ group: "time" as const, ...part }));
  return [...figures, ...parts];
}
