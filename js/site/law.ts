// Estimates the duration of a run on a machine with other costs. Pure functions.
import type { Call } from "../lib/tables";

/**
 * Return the ladder name of a level; "ladder-target" is the name of the target as a draft model.
 */
const ladderPart = (name: string) => (name === "ladder-target" ? "target" : name);

/**
 * Return the milliseconds of a run if a pass of a model over m tokens costs
 * `milliseconds[name][m - 1]`. Look-ups of databases cost what was measured here. Without prefill.
 */
export function elsewhere(calls: Call[], milliseconds: Record<string, number[]>): number {
  const cost = (name: string, fed: number) => {
    const curve = milliseconds[ladderPart(name)];
    return curve[Math.min(fed, curve.length) - 1];
  };
  let sum = 0;
  for (const { kind, name, steps, fed, duration_ns } of calls) {
    if (kind === "verify") sum += cost(name, fed);
    // The first of several passes also feeds the tokens that are not cached yet.
    else if (kind === "draft") sum += cost(name, fed - steps + 1) + (steps - 1) * cost(name, 1);
    else if (kind !== "prefill") sum += duration_ns / 1e6;
  }
  return sum;
}
