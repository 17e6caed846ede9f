// Where the time of a decode goes: the parts of its time, from the calls, and the costs that the
// latency law needs. Pure functions.
import { drafterName } from "../lib/drafter_names";
import { gainOf, metricsOf, type Run } from "../lib/metrics";
import { type Costs, MAX_LOOKAHEAD } from "../one_draft/law";

/** A part of the time of a decode. */
export interface Spent {
  name: string;
  /** The source of drafts; "": none. */
  source: string;
  /** Whether it was spent on rejected draft tokens. */
  isRejected?: boolean;
  ns: number;
}

/**
 * Divide the time of a decode, without prefill. A pass of the target is divided equally among the
 * tokens that it was fed, of which the rejected draft tokens are a part of their own. A run without
 * calls, as of another engine, has no parts.
 */
export function spendingOf(run: Run): Spent[] {
  if (!run.calls.length) return [];
  const top = Math.max(0, ...run.calls.map(({ level }) => level));
  const below = new Map<string, number>();
  let passes = 0;
  let rejected = 0;
  for (const { kind, level, name, fed, round, duration_ns } of run.calls) {
    if (kind === "prefill") continue;
    if (level < top) {
      below.set(name, (below.get(name) ?? 0) + duration_ns);
      continue;
    }
    const { drafted = 0, accepted = 0 } = run.rounds.get(round) ?? {};
    passes += duration_ns;
    rejected += duration_ns * Math.min(1, (drafted - accepted) / Math.max(1, fed));
  }
  const drafting = [...below].map(([source, ns]) => {
    return { name: `drafting: ${drafterName(source) ?? source}`, source, ns };
  });
  const sum = drafting.reduce((total, { ns }) => total + ns, passes);
  const parts: Spent[] = [
    { name: "passes: tokens that stay", source: "target", ns: passes - rejected },
    { name: "passes: rejected tokens", source: "target", isRejected: true, ns: rejected },
    ...drafting,
    { name: "between calls", source: "", ns: 1e9 * metricsOf(run).seconds - sum },
  ];
  return parts.filter(({ ns }) => ns > 0);
}

/** Round a value to a step of its slider, between 0 and `top`. */
const onSlider = (value: number, step: number, top: number) =>
  Number((Math.round(Math.max(0, Math.min(top, value)) / step) * step).toFixed(3));

/** The values of the law that a run had; `measured`: its mean lookahead, and its speed-up. */
export interface RunCosts extends Costs {
  lookahead: number;
  measured: [lookahead: number, speed: number];
}
/**
 * Return the acceptance of a run, the costs of a draft token and of verifying it in plain passes,
 * and its mean lookahead; null if they were not measured.
 */
export function costsOf(run: Run): RunCosts | null {
  const m = metricsOf(run);
  const gain = gainOf(run, m);
  const pass = 1e9 / (run.meta.plain?.tokens_per_second || NaN);
  if (!gain || gain.impossible || m.conditional_acceptance === null) return null;
  let passes = -m.target_forwards;
  let drafting = 0;
  for (const { source, ns } of spendingOf(run)) {
    if (source === "target") passes += ns / pass;
    else if (source) drafting += ns / pass;
  }
  const mean = m.drafted / m.rounds;
  return {
    acceptance: onSlider(m.conditional_acceptance, 0.01, 0.99),
    cost: onSlider(drafting / m.drafted, 0.005, 1),
    slope: onSlider(passes / m.drafted, 0.01, 0.5),
    lookahead: Math.max(1, onSlider(mean, 1, MAX_LOOKAHEAD)),
    measured: [mean, gain.value],
  };
}
