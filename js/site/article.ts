// Shared by the scenes of the article: its data, and decoding in this tab.
import type { About } from "../host";
import type * as Page from "../hsd-viz";
import type { Store } from "../lib/run";
import type { Callbacks, Client, Request, Result } from "../tab/client";
import { clientOf } from "../tab/host";
import type { FamilyTab, Offer } from "../tab/offers";

/** The data that hsd_viz/views/site.py writes into the page. */
export interface SiteData extends About {
  /** Families that visitors can download. */
  offers: Offer[];
  /** Total size of the models and databases. */
  bytes: number;
  /**
   * A machine on which verification is nearly free: predicted milliseconds of a pass over 1, 2, 3,
   * … tokens, by ladder name.
   */
  gpu: { words: string; models: Record<string, string>; milliseconds: Record<string, number[]> };
  /** Measured milliseconds of a pass of the native runtime, by ladder name and number of tokens. */
  native: Record<string, Record<string, number>>;
}
export interface Article {
  client: Client;
  tabs: readonly FamilyTab[];
  data: SiteData;
  page: typeof Page;
  settings(): { prompt: string; temperature: number; seed: number };
}
export interface Run {
  store: Store;
  result: Result;
}
/** The context of a scene's work: its abort signal, and a function that reports progress. */
export interface WorkContext {
  signal: AbortSignal;
  say: (text: string) => void;
}

/** Number of tokens of a scene's run. */
export const TOKENS = 64;
/** Number of turns of compared runs, since other load on the machine slows single runs. */
export const TURNS = 3;

/** Decode with a stack into a store that grows with the run. */
export async function decode(
  article: Article,
  stack: string,
  tokens: number,
  store: Store,
  work: WorkContext,
  more: Partial<Request> = {},
): Promise<Run> {
  const { signal, say } = work;
  const request = {
    ...article.settings(),
    ...more,
    stack,
    max_new_tokens: tokens,
    // The scenes explain this rule; the default of the command line is another one.
    rule: "token",
  };
  const callbacks: Callbacks = {
    stage: (text, done, total) => say(total ? `${text}: ${done} of ${total}` : text),
    begin(run) {
      say(`decoding with ${stack}`);
      store.adopt(run);
    },
    append: (steps) => void store.receive(steps),
  };
  const client = clientOf(article.client, article.tabs, more.family);
  const { run, result } = await client.decode(request, callbacks, signal);
  store.adopt({ ...run, meta: { ...run.meta, stop_reason: result.stop_reason } });
  if (signal.aborted) throw new DOMException("Cancelled.", "AbortError");
  return { store, result };
}

/** Decode with each stack in turn, repeatedly, and return the fastest run of each. */
export async function inTurns(article: Article, stacks: string[], { signal, say }: WorkContext) {
  const fastest = new Map<string, Run>();
  const speed = (run?: Run) => run?.result.metrics.tokens_per_second ?? 0;
  for (let turn = 1; turn <= TURNS; turn++)
    for (const stack of stacks) {
      const work = { signal, say: (text: string) => say(`${text}, turn ${turn} of ${TURNS}`) };
      const run = await decode(article, stack, TOKENS, article.page.createStore(), work);
      if (speed(run) > speed(fastest.get(stack))) fastest.set(stack, run);
    }
  return fastest;
}
