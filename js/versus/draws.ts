// Distributions of compared runs: tokens per forward pass, acceptance, sources, target probabilities. One pair of runs can reveal only
// gross faults, so every share has its sample size and every mean its standard error. Pure.
import { countsBy } from "../lib/metrics";
import type { Store } from "../lib/run";
import type { Round, Token } from "../lib/tables";
import { plural } from "../lib/words";
import { LETTERS } from "./compare";
import type { Chart, Draws, FigureRow } from "./figures";
import type { Agreement } from "./score";

/** Tokens of the last, open class of tokens per forward pass. */
const LONGEST = 12;
/** Bins of the target's probability. */
const BINS = 10;
/** Bars with fewer samples are drawn pale. */
const FEW = 5;
/** Least output positions per stretch, and most stretches per text. */
const [STRETCH, STRETCHES] = [16, 16];

type Bar = [value: number | null, n: number, words: string];
const percent = (x: number) => `${(100 * x).toFixed(0)}%`;
const bars = (pairs: [number, number][], one: string, many: string): Bar[] =>
  pairs.map(([k, n]) => [n ? k / n : null, n, `${k} of ${n} ${n === 1 ? one : many}${n ? `, ${percent(k / n)}` : ""}`]);

function chartOf(
  name: string,
  definition: string,
  classes: string[],
  runs: [n: number, bars: Bar[]][],
  { labels = classes, sources = false, write = percent } = {},
): Chart {
  const most = Math.max(0, ...runs.flatMap(([, all]) => all.map(([value]) => value ?? 0)));
  const listed = runs.map(([n, all], k) => ({ letter: LETTERS[k], n, bars: all }));
  return {
    name,
    definition,
    classes,
    labels,
    sources,
    most,
    scale: `full height: ${write(most)}`,
    few: FEW,
    runs: listed,
  };
}

const targetRounds = (run: Store) => [...run.order.keys()].map((id) => run.rounds.get(id) as Round);
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, k) => first + k);

function lengths(runs: Store[]): Chart {
  const found = runs.map((run) => run.index().rounds.map((span) => Math.min(span.count, LONGEST)));
  const classes = range(Math.min(1, ...found.flat()), Math.max(...found.flat()));
  return chartOf(
    "Tokens per target forward pass",
    "Target rounds by emitted tokens, the target's own included. The mean is the mean acceptance length.",
    classes.map((k) => (k === LONGEST ? `${k}+` : String(k))),
    found.map((all) => [
      all.length,
      bars(
        classes.map((k) => [all.filter((n) => n === k).length, all.length]),
        "round",
        "rounds",
      ),
    ]),
  );
}

function places(runs: Store[]): Chart | null {
  const tops = runs.map(targetRounds);
  const deepest = Math.min(LONGEST, Math.max(0, ...tops.flat().map((r) => r.examined)));
  if (!deepest) return null;
  const depths = range(1, deepest);
  return chartOf(
    "Acceptance by draft position",
    `Share of drafts examined at this position whose token (in a tree: one of whose tokens) was accepted. Pale: fewer than ${FEW} samples.`,
    depths.map(String),
    tops.map((rounds) => {
      const pairs = depths.map((d): [number, number] => {
        const seen = rounds.filter((r) => r.examined >= d);
        return [seen.filter((r) => r.accepted >= d).length, seen.length];
      });
      return [pairs.reduce((sum, [, n]) => sum + n, 0), bars(pairs, "examined", "examined")];
    }),
  );
}

function sourcesOf(runs: Store[]): Chart {
  const counts = runs.map((run) => countsBy(run.tokens, (t) => t.source));
  const sum = (s: string) => counts.reduce((n, c) => n + (c[s] ?? 0), 0);
  const names = [...new Set(counts.flatMap(Object.keys))].sort(
    (a, b) => Number(a === "target") - Number(b === "target") || sum(b) - sum(a) || (a < b ? -1 : 1),
  );
  return chartOf(
    "Token sources",
    "Emitted tokens by first source; the target’s are corrections, bonus and plain tokens.",
    names,
    counts.map((c, k) => {
      const n = runs[k].tokens.length;
      return [
        n,
        bars(
          names.map((s) => [c[s] ?? 0, n]),
          "token",
          "tokens",
        ),
      ];
    }),
    { sources: true },
  );
}

function probabilities(runs: Store[]): Chart {
  const bins = range(0, BINS - 1);
  return chartOf(
    "Token probability",
    "Emitted tokens by the target’s probability at temperature 1, in tenths.",
    bins.map((k) => `${k / BINS}–${(k + 1) / BINS}`),
    runs.map(({ tokens }) => [
      tokens.length,
      bars(
        bins.map((k) => [
          tokens.filter((t) => Math.min(BINS - 1, Math.floor((t.p ?? 0) * BINS)) === k).length,
          tokens.length,
        ]),
        "token",
        "tokens",
      ),
    ]),
    { labels: bins.map((k) => (k ? `.${k}` : "0")) },
  );
}

// A recorded probability of 0 was rounded.
const surprise = (t: Token) => -Math.log(Math.max(t.p ?? 0, 1e-12));

function stretches(runs: Store[]): Chart {
  const longest = Math.max(...runs.map((run) => run.tokens.length));
  let stretch = STRETCH;
  while (longest > stretch * STRETCHES) stretch *= 2;
  const firsts = range(0, Math.ceil(longest / stretch) - 1).map((k) => k * stretch);
  return chartOf(
    "Surprisal along the text",
    `Mean −ln p over stretches of ${stretch} output positions, p the target’s probability at temperature 1.`,
    firsts.map((k) => `${k + 1}–${k + stretch}`),
    runs.map(({ tokens }) => [
      tokens.length,
      firsts.map((first): Bar => {
        const values = tokens.slice(first, first + stretch).map(surprise);
        const mean = values.length ? values.reduce((a, b) => a + b, 0) / values.length : null;
        return [
          mean,
          values.length,
          mean === null ? "no token" : `${mean.toFixed(2)} nats, ${plural(values.length, "token")}`,
        ];
      }),
    ]),
    { labels: firsts.map((k) => String(k + 1)), write: (x) => `${x.toFixed(2)} nats` },
  );
}

// --- means

const signed = (x: number) => `${x >= 0 ? "+" : "−"}${Math.abs(x).toFixed(2)}`;
/** The standard error of a difference of means as text, or "" if one is unknown. */
const give = (...errors: (number | null)[]) =>
  errors.every((e) => e !== null) ? ` ± ${Math.hypot(...(errors as number[])).toFixed(2)}` : "";

/** Mean and standard error; null for a single value. */
export function meanOf(values: number[]): [mean: number, error: number | null] {
  const n = values.length;
  const mean = values.reduce((a, b) => a + b, 0) / n;
  return [mean, n > 1 ? Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (n - 1) / n) : null];
}

function meanRow(name: string, definition: string, runs: Store[], of: (t: Token) => number): FigureRow {
  const found = runs.map((run) => meanOf(run.tokens.map(of)));
  const text = (run: Store) => run.tokens.map((t) => t.token_id).join();
  const cells = found.map(([mean, error], k) => ({
    value: `${mean.toFixed(2)}`.replace("-", "−") + give(error),
    difference: !k
      ? ""
      : text(runs[k]) === text(runs[0])
        ? "the same text"
        : signed(mean - found[0][0]) + give(error, found[0][1]),
  }));
  return { name, definition, part: false, cells };
}

function wordsOf(runs: Store[], states: Set<Agreement["state"]>): string {
  const own = "Tokens per target forward pass and sources may still differ.";
  if (states.has("broken"))
    return "The texts differ although they must agree (see above), so the distributions below are not comparable.";
  if (!states.has("apart")) return `The texts agree. ${own}`;
  const least = Math.min(...runs.map((run) => run.tokens.length));
  return `The texts differ, which is allowed for draft models above temperature 0: only distributions must agree. One text of each run, at least ${plural(least, "token")} long, can reveal a gross fault but not show that distributions are equal. The tests draw hundreds of thousands of tokens for each verification rule (tests/lossless). ${own}`;
}

/** The distributions; target probabilities only where recorded and where texts differ. */
export function drawsOf(runs: Store[], agreement: Agreement[]): Draws {
  const states = new Set(agreement.map((a) => a.state));
  const known = runs.every((run) => run.tokens.length && run.tokens.every((t) => t.p !== null && t.entropy !== null));
  const charts = [lengths(runs), places(runs), sourcesOf(runs)];
  const rows: FigureRow[] = [];
  if (states.has("apart") && known) {
    charts.push(probabilities(runs), stretches(runs));
    rows.push(
      meanRow(
        "Mean log-probability",
        "Mean of ln p over emitted tokens, p the target’s probability at temperature 1; ± is the standard error for independent tokens, which underestimates the true error.",
        runs,
        (t) => -surprise(t),
      ),
      meanRow(
        "Mean entropy",
        "Mean entropy of the target’s distribution at temperature 1, in nats, over output positions; ± as above.",
        runs,
        (t) => t.entropy ?? 0,
      ),
    );
  }
  return { words: wordsOf(runs, states), rows, charts: charts.filter((c) => c !== null) };
}
