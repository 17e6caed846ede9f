// Sentences about a run: its machine, its sampling, whether it is lossless. Pure functions.
import type { Meta } from "./run_data";
import { draftsWithModels, isPlain, type Sources, targetOf } from "./stack";
import { plural } from "./words";

const short = (x: number) => String(Number(x.toPrecision(6)));

export function samplingText(sampling: Meta["sampling"] = {}): string {
  const { temperature, top_k, top_p, min_p, seed } = sampling;
  if (!temperature) return "greedy";
  const cuts = [
    top_k ? `, top-k ${top_k}` : "",
    (top_p ?? 1) < 1 ? `, top-p ${short(top_p ?? 1)}` : "",
    min_p ? `, min-p ${short(min_p)}` : "",
  ];
  return `temperature ${short(temperature)}${cuts.join("")}, seed ${seed ?? 0}`;
}

/** Describe the number of runs of which a recording is the fastest; "": not recorded. */
const fastestText = (meta: Meta) =>
  (meta.fastest_of ?? 0) > 1 ? `, fastest of ${meta.fastest_of} runs` : "";

/** List facts of a run; `recorded`: it was not decoded on this page. */
export function factsOf(meta: Meta, recorded: boolean): string[] {
  const facts = [meta.device_name || meta.device || "machine not recorded"];
  if (meta.device && meta.device !== facts[0]) facts.push(meta.device);
  if (meta.dtype) facts.push(meta.dtype);
  if (meta.device === "cpu" && meta.threads) facts.push(plural(meta.threads, "thread"));
  if (meta.runtime)
    facts.push(`${meta.runtime} runtime${meta.runtime_note ? ` (${meta.runtime_note})` : ""}`);
  facts.push(samplingText(meta.sampling));
  if (recorded && meta.created) {
    facts.push(`recorded ${meta.created.slice(0, 10)}${fastestText(meta)}`);
    if (meta.clock) facts.push(`in ${meta.clock}`);
  }
  if (meta.cancelled && !recorded) facts.push("cancelled");
  return facts.map(String);
}

/** The verification rules of hsd_viz, all lossless. Rules of other packages are not checked. */
export const RULES: readonly string[] = ["token", "block", "branch"];
/** Return whether a rule verifies a draft as a whole, from its end. */
export const isWhole = (rule: string) => rule === "block" || rule === "branch";

/** Describe a rule of another package in its own words. */
function otherRule({ sampling, rule_words: words }: Meta): string {
  const description = words ? `, which says of itself: “${words}”` : "";
  const rule = `Verified by the rule “${sampling.rule}” of another package${description}.`;
  return `${rule} Nothing here has checked whether it is lossless.`;
}

/** Describe the relation of a run's text to plain decoding with its target. */
export function losslessText(meta: Meta, sources: Sources): string {
  if (!meta.stack) return "";
  if (meta.imported)
    return `A request that ${meta.imported.engine} served: whether it is lossless was not checked.`;
  if (isPlain(meta.stack)) return "Plain decoding: no drafts.";
  const target = targetOf(meta.stack) === "target" ? "the target" : targetOf(meta.stack);
  if (!meta.sampling.temperature) return `Lossless: the output equals plain decoding of ${target}.`;
  const models = draftsWithModels(meta.stack, sources);
  if (models && !RULES.includes(meta.sampling.rule ?? "token")) return otherRule(meta);
  const plain = `plain sampling of ${target}`;
  return models
    ? `Lossless in distribution: the same seed may give another text than ${plain}.`
    : `Lossless: the output equals ${plain} with the same seed, token for token.`;
}
