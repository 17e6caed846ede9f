// The worker as a host of the explorer (../host.ts): recorded runs from the site's files, live runs
// from this tab.
import type { About, DecodeRequest, Host, Progress } from "../host";
import { headOf, type Snapshot } from "../lib/run_data";
import type { Client } from "./client";
import { type FamilyTab, offerPanel } from "./offers";

/** Tokens of the plain run that a speed-up is measured against. */
const PLAIN_TOKENS = 32;
/** A decode to its end, or to where `signal` cancelled it. */
type Decode = (
  request: DecodeRequest,
  on: Partial<Progress>,
  signal: AbortSignal,
) => Promise<{ run: Snapshot; speed: number | null }>;

/** A host's `decode`: plain decoding follows if it is asked for. */
export const besidePlain =
  (decode: Decode): NonNullable<Host["decode"]> =>
  async (request, on, signal) => {
    const { run } = await decode(request, on, signal);
    if (!run.tokens.token_id?.length)
      throw new DOMException("The decode was cancelled.", "AbortError");
    const head = headOf(run);
    const { levels, meta } = head;
    if (!request.beside_plain || levels.length < 2 || signal.aborted) return head;
    on.stage("plain decoding, for comparison");
    const plain = { ...request, stack: levels[levels.length - 1], max_new_tokens: PLAIN_TOKENS };
    const { speed } = await decode(plain, {}, signal).catch(() => ({ speed: null }));
    return speed ? { ...head, meta: { ...meta, plain: { tokens_per_second: speed } } } : head;
  };

/** A recorded run from the site's files. */
export async function recording(name: string): Promise<Snapshot> {
  const answer = await fetch(`recordings/${name}.json`);
  if (!answer.ok)
    throw new Error(`the recording '${name}' cannot be loaded (status ${answer.status})`);
  return (await answer.json()) as Snapshot;
}

/** The worker of a request's family. Throws a one-line error where it is not loaded. */
export function clientOf(own: Client, tabs: readonly FamilyTab[], family?: string): Client {
  const tab = tabs.find(({ offer }) => offer.family === family);
  if (!tab) return own;
  if (tab.stage === "ready" && tab.client) return tab.client;
  throw new Error(`${tab.name} is not loaded in this tab: press Download or Load first`);
}

export function tabHost(own: Client, about: About, tabs: readonly FamilyTab[]): Host {
  const names = ["code", ...tabs.map(({ offer }) => offer.family)];
  const families = tabs.length
    ? (about.families ?? []).filter(({ name }) => names.includes(name))
    : [];
  const panels = new Map(tabs.map((tab) => [tab.offer.family, offerPanel(tab)]));
  return {
    // What this tab decodes with is on the site, not in Python's packages.
    about: { ...about, families: families.map((family) => ({ ...family, installed: true })) },
    answers: [],
    recording,
    panel: (family) => panels.get(family) ?? null,
    decode: besidePlain(async (request, on, signal) => {
      const { family } = request;
      if (family && !names.includes(family))
        throw new Error(
          `this page has no models of the family ${family}: ` +
            `run hsd-viz dashboard --family ${family}`,
        );
      const { run, result } = await clientOf(own, tabs, family).decode(request, on, signal);
      const { stop_reason } = result;
      run.meta = { ...run.meta, stop_reason, cancelled: stop_reason === "cancelled" };
      return { run, speed: result.metrics.tokens_per_second };
    }),
    watch(heard) {
      own.state.add(heard);
      if (own.why) heard(own.why);
      return () => own.state.delete(heard);
    },
  };
}
