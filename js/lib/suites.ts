// Speed-ups over the prompts of suites, from saved reports, and the one of a run. Pure functions.
import type { Meta } from "./run_data";
import { isPlain } from "./stack";

/** A speed-up measured over the prompts of a suite, from a saved report. */
export interface Suite {
  family: string;
  /** Title of the suite, and file name of the report. */
  name: string;
  file: string;
  stack: string;
  temperature: number;
  dtype: string;
  prompts: number;
  value: number;
  /** Ends of the 95 % interval. */
  low: number;
  high: number;
}

/** Return the result of a saved report for the stack and settings of a run; null: none. */
export function suiteOf({ meta }: { meta: Meta }, suites: readonly Suite[] = []): Suite | null {
  if (isPlain(meta.stack)) return null;
  const temperature = meta.sampling?.temperature ?? 0;
  const fits = (suite: Suite) =>
    suite.family === meta.family &&
    suite.stack === meta.stack &&
    suite.temperature === temperature &&
    suite.dtype === meta.dtype;
  return suites.find(fits) ?? null;
}
/** The result of a suite and its interval, each without line breaks. */
export const timesText = ({ value }: Suite) => `${value.toFixed(2)}\u00a0×`;
export const intervalText = ({ low, high }: Suite) =>
  `[${low.toFixed(2)},\u00a0${high.toFixed(2)}]`;
