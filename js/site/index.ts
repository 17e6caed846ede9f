// The page of a built site: the scenes of the article with a worker that decodes in this tab, and
// the object window.hsd for scripts.
import { playOf } from "../game/score";
import type * as Page from "../hsd-viz";
import { make } from "../lib/dom";
import type { Snapshot } from "../lib/run_data";
import { saveDrawing } from "../lib/save";
import { megabytes } from "../lib/words";
import type { Request, Result } from "../tab/client";
import { type Callbacks, Client } from "../tab/client";
import { clientOf, tabHost } from "../tab/host";
import { FamilyTab } from "../tab/offers";
import type { SiteData } from "./article";
import { recording } from "./recordings";
import { scenes } from "./scenes";
import { seedOfAddress } from "./seed";

declare global {
  interface Window {
    hsd: {
      /** Resolves when everything is loaded; decode() waits only for the files that it needs. */
      ready: Promise<void>;
      decode(request: Request, on?: Callbacks, signal?: AbortSignal): Promise<Result>;
      /** Load a family that the site offers. `heard` gets the number of loaded bytes. */
      load(family: string, heard?: (done: number, total: number) => void): Promise<void>;
    };
  }
}
/** The preset whose recorded run the scenes show at first. */
const RECORDED_PROMPT = "new";
const byId = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;

/**
 * Show the progress of loading, or one card with the reason for which the tab cannot decode.
 * `waiting` is the text before loading starts.
 */
function status(client: Client, waiting: string) {
  const bar = byId("loading");
  const card = byId("unusable");
  client.progress.add(({ done, total, ready }) => {
    const isComplete = done >= total;
    const names = ready.length ? `ready: ${ready.join(", ")}` : "models and databases are loading";
    bar.textContent = isComplete
      ? `Live in this tab: ${megabytes(total, 1)} MB loaded`
      : `${megabytes(done, 1)} of ${megabytes(total, 1)} MB, ${names}`;
    bar.style.setProperty("--share", `${total ? (100 * done) / total : 0}%`);
  });
  const lost = (why: string) => {
    card.hidden = !why;
    bar.hidden = !!why;
    const restart = make("button", "", "Start again");
    restart.addEventListener("click", () => client.start());
    card.replaceChildren(
      make("b", "", "Nothing can be decoded in this tab."),
      make("p", "", why),
      restart,
    );
    const link = make("a", "", "The recorded runs need no decoding.");
    link.href = document.getElementById("recordings") ? "#recordings" : "index.html#recordings";
    card.append(" ", link);
  };
  client.state.add(lost);
  lost(client.why);
  if (!client.why && !client.loading.total) bar.textContent = waiting;
}

/** Return a function that reads the settings of all scenes from the fields of the article. */
function settingsOf({ prompts }: SiteData) {
  const prompt = byId<HTMLTextAreaElement>("prompt");
  const preset = byId<HTMLSelectElement>("preset");
  preset.append(...prompts.map(({ title }) => new Option(title)));
  preset.selectedIndex = Math.max(
    0,
    prompts.findIndex(({ name }) => name === RECORDED_PROMPT),
  );
  const choose = () => {
    prompt.value = prompts[preset.selectedIndex].prompt;
  };
  preset.addEventListener("change", choose);
  choose();
  return () => ({
    prompt: prompt.value,
    temperature: Number(byId<HTMLSelectElement>("temperature").value),
    seed: Number(byId<HTMLInputElement>("seed").value),
  });
}

/** Load the runs of a game while its script loads. */
function loadRuns({ games, plays }: SiteData, seed: number) {
  const names = playOf(plays, seed);
  const texts = games.filter(({ name }) => names.includes(name));
  for (const name of texts.flatMap(({ runs }) => Object.values(runs)))
    recording(name).catch(() => {}); // The game itself reports what it misses.
}

/**
 * Open the game, which needs no runtime. The visitor's run opens in the explorer, or in the article
 * by `show`.
 */
function game(
  { keepRun, openGame }: typeof Page,
  data: SiteData,
  seed: number,
  show: (run: Snapshot) => void,
) {
  const el = document.getElementById("game");
  if (!el || !data.games.length) return;
  const here = new URL(location.href);
  here.search = `?game=${seed}`;
  here.hash = "";
  const toArticle = () => document.getElementById("s1")?.scrollIntoView();
  openGame(el, {
    palette: data.palette,
    games: data.games,
    plays: data.plays,
    seed,
    recording,
    leave(run) {
      if (!run) return toArticle();
      keepRun(run);
      location.href = "explore.html?trace=here";
    },
    goOn(run) {
      show(run);
      toArticle();
    },
    save: saveDrawing,
    address: here.href,
    alone: false,
    skip: "to_article",
    languages: data.languages,
  });
}

/** Wake a client when an element scrolls into the upper part of the window. */
function wakeNear(el: Element, client: Client) {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      client.wake();
    },
    { rootMargin: "0px 0px -40% 0px" },
  );
  observer.observe(el);
}

async function start() {
  const data: SiteData = JSON.parse(byId("site-data").textContent ?? "");
  // The game and the first scene show recorded runs; models are loaded when the second is near.
  const first = document.getElementById("s2");
  const client = new Client({ script: "tab-worker.js", base: "runtime/", waits: first !== null });
  status(
    client,
    first
      ? `${megabytes(data.bytes, 1)} MB of models load with the scenes.`
      : "Loading the runtime …",
  );
  const ready = new Promise<void>((resolve, reject) => {
    client.progress.add(({ done, total, file }) => {
      if (!file && done === total) resolve();
    });
    client.state.add((why) => why && reject(new Error(why)));
    if (client.why) reject(new Error(client.why));
  });
  ready.catch(() => {});
  const tabs = data.offers.map((offer) => new FamilyTab(offer));
  window.hsd = {
    get ready() {
      client.wake();
      return ready;
    },
    async decode(request, on, signal) {
      return (await clientOf(client, tabs, request.family).decode(request, on, signal)).result;
    },
    async load(family, heard = () => {}) {
      const tab = tabs.find(({ offer }) => offer.family === family);
      if (!tab) throw new Error(`this site does not offer ${family}`);
      tab.changed.add(() => tab.client && heard(tab.client.loading.done, tab.client.loading.total));
      await tab.load();
    },
  };
  // A page opened from a folder cannot import modules.
  if (location.protocol === "file:") return;
  const explorer = document.getElementById("explorer");
  const seed = seedOfAddress();
  if (!explorer) loadRuns(data, seed);
  // In a variable, so that esbuild does not include the module in this bundle.
  const bundle = "./hsd-viz.js";
  const page = (await import(bundle)) as typeof Page;
  if (explorer) page.openPage(explorer, tabHost(client, data, tabs), { address: true });
  else {
    if (first) wakeNear(first, client);
    const article = { client, tabs, data, page, settings: settingsOf(data) };
    game(page, data, seed, (run) => show(run));
    const show = scenes(article, seed);
  }
}

void start();
