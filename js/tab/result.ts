// Facts of a decode before its first round, and its result at the end. Pure functions.
import { metricsOf } from "../lib/metrics";
import { storeOf } from "../lib/run";
import type { Snapshot } from "../lib/run_data";
import { recordedSeed } from "../lib/seed";
import type { Request, Result } from "./client";
import type { DecodeSettings } from "./decode";
import type { Loaded } from "./loading";
import type { Manifest } from "./manifest";
import type { RunFacts } from "./record";

/** Return the facts of a run after its prefill, which took `prefill_ns` nanoseconds. */
export function factsOf(
  run: string,
  request: Request,
  { stack, prompt, sampling, max_new_tokens }: DecodeSettings,
  { family }: Manifest,
  prefill_ns: number,
): RunFacts {
  const models = stack.models.map(({ name }) => name);
  return {
    run,
    prompt: request.prompt,
    prompt_ids: prompt,
    levels: stack.databases ? ["db", ...models] : models,
    prefill_ns,
    meta: {
      device: "cpu",
      device_name: "this browser tab",
      dtype: "int8",
      threads: 1,
      family,
      runtime: "WebAssembly",
      chat: Boolean(request.chat),
      max_new_tokens,
      stack: stack.resolved,
      sampling: { ...sampling, seed: recordedSeed(sampling.seed) },
    },
  };
}

/** Return the result of a decode in the form that `hsd-viz decode --json` prints. */
export function resultOf(
  { stack, prompt, max_new_tokens }: DecodeSettings,
  { emitted: ids, limit }: { emitted: number[]; limit: number },
  whole: Snapshot,
  { manifest, tokenizer }: Loaded,
): Result {
  const { calls_by_level, ...metrics } = metricsOf(storeOf(whole));
  return {
    text: tokenizer.decode(ids),
    token_ids: [...ids],
    stop_reason: stopReason(ids, {
      ends: manifest.text.ends,
      isShort: prompt.length + ids.length < limit,
      most: max_new_tokens,
    }),
    stack: stack.written,
    stack_resolved: stack.resolved,
    target: stack.models.at(-1)?.name ?? "",
    metrics,
    calls_by_level,
  };
}

/** Return why an output ended. `isShort`: before its limit; `most`: number of requested tokens. */
export function stopReason(
  ids: number[],
  { ends, isShort, most }: { ends: number[]; isShort: boolean; most: number },
): Result["stop_reason"] {
  if (ids.length && ends.includes(ids[ids.length - 1])) return "eos";
  if (isShort) return "cancelled";
  return ids.length >= most ? "length" : "context";
}
