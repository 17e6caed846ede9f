// Decoding a run in the background, beside the one that the page shows.
import type { DecodeRequest, Host, Progress } from "../host";
import { createStore, type Store } from "../lib/run";

/** Decode to the end and return the run. Throws an AbortError if `signal` cancelled it. */
export async function decoded(
  host: Host,
  request: DecodeRequest,
  stage: Progress["stage"] = () => {},
  signal = new AbortController().signal,
): Promise<Store> {
  if (!host.decode) throw new Error("this page cannot decode");
  const run = createStore();
  const progress: Progress = {
    stage,
    begin: (first) => run.adopt(first),
    append: (steps) => void run.receive(steps),
  };
  run.adopt(await host.decode({ ...request, beside_plain: false }, progress, signal));
  if (signal.aborted) throw new DOMException("cancelled", "AbortError");
  return run;
}
