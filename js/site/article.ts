// What all scenes of the article share: its data, and decodes in this tab.
import type { About } from "../host";
import type * as Page from "../hsd-viz";
import type { Store } from "../lib/run";
import type { Client, On, Request, Result } from "../tab/client";
import { clientOf } from "../tab/host";
import type { FamilyTab, Offer } from "../tab/offers";

/** What hsd_viz/views/site.py writes into the page. */
export interface SiteData extends About {
  /** Families that the site has, for those who ask for them. */
  offers: Offer[];
  /** Size of the models and databases. */
  bytes: number;
  /**
   * A machine where verification is nearly free: predicted milliseconds of a pass over 1, 2, 3, ...
   * tokens, by ladder name.
   */
  gpu: { words: string; models: Record<string, string>; milliseconds: Record<string, number[]> };
  /**
   * Measured milliseconds of a pass of the native runtime by the number of tokens, by ladder name.
   */
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
/** What a scene's work is given: when to stop, and where to say how far it is. */
export interface Work {
  signal: AbortSignal;
  say: (text: string) => void;
}

/** Tokens of a scene's run. */
export const TOKENS = 64;
/** Turns of runs that are compared; other work of the machine slows single ones. */
export const TURNS = 3;

/** Decode with a stack into a store, which grows with the run. */
export async function decode(
  article: Article,
  stack: string,
  tokens: number,
  store: Store,
  work: Work,
  more: Partial<Request> = {},
): Promise<Run> {
  const { signal, say } = work;
  const request = {
    ...article.settings(),
    ...more,
    stack,
    max_new_tokens: tokens,
    // The rule of the scenes' words; the command line's own default is another one.
    rule: "token",
  };
  const on: On = {
    stage: (text, done, total) => say(total ? `${text}: ${done} of ${total}` : text),
    begin(run) {
      say(`decoding with ${stack}`);
      store.adopt(run);
    },
    append: (steps) => void store.receive(steps),
  };
  const client = clientOf(article.client, article.tabs, more.family);
  const { run, result } = await client.decode(request, on, signal);
  store.adopt({ ...run, meta: { ...run.meta, stop_reason: result.stop_reason } });
  if (signal.aborted) throw new DOMException("Cancelled.", "AbortError");
  return { store, result };
}

/** Decode with stacks in turns, and keep the fastest run of each. */
export async function inTurns(article: Article, stacks: string[], { signal, say }: Work) {
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
