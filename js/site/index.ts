// The page of a built site: the article's scenes over a worker that decodes in this tab, and window.hsd for scripts.
import type { openPage as open } from "../app/page";
import type { About } from "../host";
import { make } from "../lib/dom";
import { Client, type On } from "../tab/client";
import { tabHost } from "../tab/host";
import type { Request, Result } from "../tab/protocol";
import { button, type Scene, type Shared, type SiteData } from "./kit";
import { darts, databases, draftAndVerify, hierarchies, passes } from "./scenes";

declare global {
  interface Window {
    hsd: {
      /** Resolves when everything is loaded; decode() waits for what it needs only. */
      ready: Promise<void>;
      decode(request: Request, on?: On, signal?: AbortSignal): Promise<Result>;
    };
  }
}
const byId = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

/** Set a colour for each source, by the theme. */
function paint(hues: SiteData["hues"]) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const sheet = new CSSStyleSheet();
  const apply = () =>
    sheet.replaceSync(
      Object.entries(hues)
        .map(([name, hue]) => `[data-source="${name}"]{--hue:${dark.matches ? hue.dark : hue.light}}`)
        .join(""),
    );
  dark.addEventListener("change", apply);
  apply();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** What is loaded, or the one card that says why nothing can be decoded. */
function status(client: Client) {
  const bar = byId("loading");
  const card = byId("unusable");
  client.progress.add(({ done, total, ready }) => {
    const all = done >= total;
    const names = ready.length ? `ready: ${ready.join(", ")}` : "models and databases are loading";
    bar.textContent = all
      ? `Live in this tab: ${megabytes(total)} MB loaded. Nothing more is requested.`
      : `${megabytes(done)} of ${megabytes(total)} MB, ${names}`;
    bar.style.setProperty("--share", `${total ? (100 * done) / total : 0}%`);
  });
  const lost = (why: string) => {
    card.hidden = !why;
    bar.hidden = !!why;
    const again = button("Start again", () => client.start());
    card.replaceChildren(make("b", "", "Nothing can be decoded in this tab."), make("p", "", why), again);
    const link = make("a", "", "The recorded runs need no decoding.");
    link.href = document.getElementById("recordings") ? "#recordings" : "index.html#recordings";
    card.append(" ", link);
  };
  client.state.add(lost);
  lost(client.why);
}

function settings(data: SiteData): Shared {
  const [prompt, preset] = [byId<HTMLTextAreaElement>("prompt"), byId<HTMLSelectElement>("preset")];
  for (const { title } of data.prompts) preset.append(new Option(title));
  const choose = () => {
    prompt.value = data.prompts[preset.selectedIndex].prompt;
  };
  preset.addEventListener("change", choose);
  choose();
  return {
    get prompt() {
      return prompt.value;
    },
    get temperature() {
      return Number(byId<HTMLSelectElement>("temperature").value);
    },
    get seed() {
      return Number(byId<HTMLInputElement>("seed").value);
    },
  };
}

/** The explorer: the page of the one bundle, over recorded runs and the worker. */
async function explore(el: HTMLElement, client: Client, about: About) {
  // A file beside this one, not a part of it.
  const bundle = "./hsd-viz.js";
  const { openPage } = (await import(bundle)) as { openPage: typeof open };
  openPage(el, tabHost(client, about), { address: true });
}

function start() {
  const data: SiteData & About = JSON.parse(byId("site-data").textContent ?? "");
  const client = new Client("tab-worker.js", "runtime/");
  status(client);
  const ready = new Promise<void>((resolve, reject) => {
    client.progress.add(({ done, total, file }) => {
      if (!file && done === total) resolve();
    });
    client.state.add((why) => why && reject(new Error(why)));
    if (client.why) reject(new Error(client.why));
  });
  ready.catch(() => {});
  window.hsd = { ready, decode: async (request, on, signal) => (await client.decode(request, on, signal)).result };
  const explorer = document.getElementById("explorer");
  if (explorer) {
    void explore(explorer, client, data);
    return;
  }
  paint(data.hues);
  const shared = settings(data);
  const scene = (name: string): Scene => ({ el: byId(`scene-${name}`), client, data, shared });
  passes(scene("passes"));
  draftAndVerify(scene("draft"), byId("scene-verify"));
  darts(scene("darts"));
  databases(scene("databases"));
  hierarchies(scene("hierarchies"));
}

start();
