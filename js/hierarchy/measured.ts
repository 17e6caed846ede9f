// Compares the measurements of a run with those on many prompts and with the prediction of its
// calibration: the rows of a table, and the reason for a difference. Pure functions.
import { gainOf, metricsOf } from "../lib/metrics";
import type { Store } from "../lib/run";
import { isPlain } from "../lib/stack";
import { intervalText, type Suite, timesText } from "../lib/suites";
import { plural } from "../lib/words";
import { textOf } from "../locality_map/passages";
import type { Graph, Picked } from "./spec";

/** A row of the table; `rate`: conditional acceptance, null: unknown. */
export interface Row {
  /** The prompts, and the stack if it is not the selected one. */
  of: string;
  times: string;
  /** How the value is known. */
  how: "measured" | "predicted";
  rate: number | null;
}

const inTimes = (speedup: number) => `${speedup.toFixed(2)} ×`;

/** Return the row of a run; null if it has no speed-up over plain decoding. */
export function runRow(store: Store, picked: Picked): Row | null {
  const { stack, wall_ns } = store.meta;
  if (wall_ns === null || isPlain(stack)) return null;
  const m = metricsOf(store);
  const gain = gainOf(store, m);
  if (!gain || gain.impossible) return null;
  const stackNote = stack === picked.stack ? "" : ` with ${stack}`;
  return {
    of: `This prompt${stackNote}`,
    times: inTimes(gain.value),
    how: "measured",
    rate: m.conditional_acceptance,
  };
}

/** Return the row of the selected stack by the latency law, with the acceptance at its target. */
export function calibrationRow({ edges, prompts }: Graph, picked: Picked): Row {
  const names = (picked.path ?? []).map(({ name }) => name);
  const [from, to] = names.slice(-2);
  const rate = edges.find((edge) => edge.from === from && edge.to === to)?.rate ?? null;
  return {
    of: prompts ? `${plural(prompts, "prompt")} of the calibration` : "The calibration",
    times: inTimes(1 + picked.over_plain),
    how: "predicted",
    rate,
  };
}

/** Return the row of a report's prompts. */
export function suiteRow(suite: Suite): Row {
  return {
    of: `${plural(suite.prompts, "prompt")}: ${suite.name}`,
    times: `${timesText(suite)} ${intervalText(suite)}`,
    how: "measured",
    rate: null,
  };
}
/** Return the row of the prompts on which the prediction was checked; none if it was not. */
export function otherRow({ measured_over_plain: gain, measured_on: on }: Picked): Row[] {
  if (typeof gain !== "number") return [];
  return [{ of: on || "Other prompts", times: inTimes(1 + gain), how: "measured", rate: null }];
}

/** Explain why the run accepts more than the calibration; "": it does not. */
export function reasonOf(store: Store, run: Row, calibration: Row): string {
  if (run.rate === null || calibration.rate === null || run.rate <= calibration.rate) return "";
  const copied = textOf(store).passages.reduce((sum, { length }) => sum + length, 0);
  if (!copied) return "";
  const share = `${copied} of ${plural(store.tokens.length, "token")}`;
  return (
    `The prompt is copied from: ${share} of this answer repeat earlier text, so more drafts ` +
    "are accepted than on the calibration’s prompts."
  );
}
