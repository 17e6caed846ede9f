// Compares the order of runs on one prompt with that on many prompts. Pure functions.
import { isPlain } from "../lib/stack";
import { crossingOf, goalOf, type Runner } from "./race_time";

/**
 * Name the runs that are faster than plain decoding, the first run, on this prompt and slower on
 * those of their suites, or the reverse; the intervals of the suites exclude 1. "": there are none.
 */
export function contrastText(
  runs: readonly (Pick<Runner, "title" | "stairs" | "suite"> & {
    store: Pick<Runner["store"], "meta">;
  })[],
): string {
  if (!isPlain(runs[0].store.meta.stack)) return "";
  const goal = goalOf(runs);
  const timeOf = ({ stairs }: (typeof runs)[number]) => crossingOf(stairs, goal);
  const words = runs.slice(1).map((run) => {
    const { title, suite } = run;
    const isFaster = timeOf(run) < timeOf(runs[0]);
    if (!suite || (isFaster ? suite.high >= 1 : suite.low <= 1)) return "";
    return `${title}: ${isFaster ? "faster here, usually slower" : "slower here, usually faster"}`;
  });
  return words.filter(Boolean).join("; ");
}
