// The page of a built site: the article's scenes over a worker that decodes in this tab, and
// window.hsd for scripts.
import type * as Page from "../hsd-viz";
import { make } from "../lib/dom";
import { saveDrawing } from "../lib/save";
import { megabytes } from "../lib/words";
import type { Request, Result } from "../tab/client";
import { Client, type On } from "../tab/client";
import { clientOf, recording, tabHost } from "../tab/host";
import { FamilyTab } from "../tab/offers";
import type { SiteData } from "./article";
import { scenes } from "./scenes";

declare global {
  interface Window {
    hsd: {
      /** Resolves when everything is loaded; decode() waits for what it needs only. */
      ready: Promise<void>;
      decode(request: Request, on?: On, signal?: AbortSignal): Promise<Result>;
      /** Load a family that the site offers. `heard` gets the bytes that have arrived. */
      load(family: string, heard?: (done: number, total: number) => void): Promise<void>;
    };
  }
}
const byId = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;

/**
 * What is loaded, or the one card that says why nothing can be decoded; `waiting`: what it says
 * before.
 */
function status(client: Client, waiting: string) {
  const bar = byId("loading");
  const card = byId("unusable");
  client.progress.add(({ done, total, ready }) => {
    const all = done >= total;
    const names = ready.length ? `ready: ${ready.join(", ")}` : "models and databases are loading";
    bar.textContent = all
      ? `Live in this tab: ${megabytes(total, 1)} MB loaded`
      : `${megabytes(done, 1)} of ${megabytes(total, 1)} MB, ${names}`;
    bar.style.setProperty("--share", `${total ? (100 * done) / total : 0}%`);
  });
  const lost = (why: string) => {
    card.hidden = !why;
    bar.hidden = !!why;
    const again = make("button", "", "Start again");
    again.addEventListener("click", () => client.start());
    card.replaceChildren(
      make("b", "", "Nothing can be decoded in this tab."),
      make("p", "", why),
      again,
    );
    const link = make("a", "", "The recorded runs need no decoding.");
    link.href = document.getElementById("recordings") ? "#recordings" : "index.html#recordings";
    card.append(" ", link);
  };
  client.state.add(lost);
  lost(client.why);
  if (!client.why && !client.loading.total) bar.textContent = waiting;
}

/** The settings of all scenes, from the fields of the article. */
function settingsOf({ prompts }: SiteData) {
  const prompt = byId<HTMLTextAreaElement>("prompt");
  const preset = byId<HTMLSelectElement>("preset");
  preset.append(...prompts.map(({ title }) => new Option(title)));
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

/** The game, which needs no runtime. The visitor's run opens in the explorer. */
function game({ keepRun, openGame, seedOf }: typeof Page, data: SiteData) {
  const el = document.getElementById("game");
  if (!el || !data.games.length) return;
  const asked = new URLSearchParams(location.search).get("game") ?? "";
  const seed = /^[0-9]{1,9}$/.test(asked) ? Number(asked) : seedOf(new Date());
  const here = new URL(location.href);
  here.search = `?game=${seed}`;
  here.hash = "";
  openGame(el, {
    palette: data.palette,
    games: data.games,
    plays: data.plays,
    seed,
    recording,
    leave(run) {
      if (!run) return document.getElementById("s1")?.scrollIntoView();
      keepRun(run);
      location.href = "explore.html?trace=here";
    },
    save: saveDrawing,
    address: here.href,
    alone: false,
    skip: "to_article",
    languages: data.languages,
  });
}

/** Wake a client when an element comes into the upper part of the view. */
function wakeNear(el: Element, client: Client) {
  const seen = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      client.wake();
    },
    { rootMargin: "0px 0px -40% 0px" },
  );
  seen.observe(el);
}

async function start() {
  const data: SiteData = JSON.parse(byId("site-data").textContent ?? "");
  // The first screen plays recorded runs: the models come with the scenes.
  const first = document.getElementById("s1");
  const client = new Client({ script: "tab-worker.js", base: "runtime/", waits: first !== null });
  status(
    client,
    first
      ? `${megabytes(data.bytes, 1)} MB of models load with the scenes below.`
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
  // A page of a folder can load no module.
  if (location.protocol === "file:") return;
  // A file beside this one, not a part of it.
  const bundle = "./hsd-viz.js";
  const page = (await import(bundle)) as typeof Page;
  const explorer = document.getElementById("explorer");
  if (explorer) page.openPage(explorer, tabHost(client, data, tabs), { address: true });
  else {
    game(page, data);
    if (first) wakeNear(first, client);
    scenes({ client, tabs, data, page, settings: settingsOf(data) });
  }
}

void start();
