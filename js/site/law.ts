// What a run takes where its passes cost something else. Pure.
import type { Call } from "../lib/tables";

/** The ladder name of a level: the target is the largest model. */
const ladderPart = (name: string) => (name === "ladder-target" ? "target" : name);

/**
 * Milliseconds that a run's passes take where a pass of a model over m tokens costs
 * `milliseconds[name][m - 1]`. Drafting from databases is counted as measured here. Prefill is left
 * out.
 */
export function elsewhere(calls: Call[], milliseconds: Record<string, number[]>): number {
  const cost = (name: string, fed: number) => {
    const curve = milliseconds[ladderPart(name)];
    return curve[Math.min(fed, curve.length) - 1];
  };
  let sum = 0;
  for (const { kind, name, steps, fed, duration_ns } of calls) {
    if (kind === "verify") sum += cost(name, fed);
    // The first of several passes also feeds what is not cached.
    else if (kind === "draft") sum += cost(name, fed - steps + 1) + (steps - 1) * cost(name, 1);
    else if (kind !== "prefill") sum += duration_ns / 1e6;
  }
  return sum;
}
