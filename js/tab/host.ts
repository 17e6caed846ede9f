// The host of the explorer on a site (../host.ts): recorded runs from the site's files, live runs
// from workers of this tab.
import type { About, Host } from "../host";
import { besidePlain } from "../host/plain";
import type { Snapshot } from "../lib/run_data";
import type { Client } from "./client";
import { type FamilyTab, offerPanel } from "./offers";

/** Load a recorded run from the site's files. */
export async function recording(name: string): Promise<Snapshot> {
  const answer = await fetch(`recordings/${name}.json`);
  if (!answer.ok)
    throw new Error(`the recording '${name}' cannot be loaded (status ${answer.status})`);
  return (await answer.json()) as Snapshot;
}

/** Return the client of a request's family. Throws a one-line error if it is not loaded. */
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
    // The families are on the site, so that they need no Python packages.
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
