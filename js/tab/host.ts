// The worker as a host of the explorer (../host.ts): recorded runs from the site's files, live runs from this tab.
import type { About, DecodeRequest, Host, Progress } from "../host";
import type { Head, Snapshot } from "../lib/run";
import type { Client } from "./client";

/** Tokens of the plain run that a speed-up is measured against. */
const PLAIN_TOKENS = 32;
export function tabHost(client: Client, about: About): Host {
  return {
    about,
    answers: [],
    async recording(name) {
      const answer = await fetch(`recordings/${name}.json`);
      if (!answer.ok) throw new Error(`the recording '${name}' cannot be loaded (status ${answer.status})`);
      return (await answer.json()) as Snapshot;
    },
    async decode(request: DecodeRequest, on: Progress, signal: AbortSignal): Promise<Head> {
      const { run, result } = await client.decode(request, on, signal);
      if (!result.token_ids.length) throw new DOMException("The decode was cancelled.", "AbortError");
      const { run: name, seq, prompt, prompt_ids, levels, meta } = run;
      const { stop_reason } = result;
      const ended = { stop_reason, cancelled: stop_reason === "cancelled" };
      const head = { run: name, seq, prompt, prompt_ids, levels, meta: { ...meta, ...ended } };
      if (!request.beside_plain || levels.length < 2 || signal.aborted) return head;
      const plain = { ...request, stack: levels[levels.length - 1], max_new_tokens: PLAIN_TOKENS };
      on.stage("plain decoding, for comparison");
      const { result: other } = await client.decode(plain, {}, signal);
      const speed = other.metrics.tokens_per_second;
      return speed ? { ...head, meta: { ...head.meta, plain: { tokens_per_second: speed } } } : head;
    },
    watch(heard) {
      client.state.add(heard);
      if (client.why) heard(client.why);
      return () => client.state.delete(heard);
    },
  };
}
