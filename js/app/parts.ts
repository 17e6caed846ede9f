// The parts of the page around the run: header, recordings and saving, status, tabs, and the banner
// of a lost host.
import { html, nothing } from "lit-html";
import { press } from "../lib/dom";
import { field, menu } from "../lib/fields";
import { slug } from "./address";
import { drawingOf } from "./drawing";
import { choose, download, save } from "./files";
import { headlineOf, speedOf } from "./headline";
import { originOf } from "./origin";
import type { Playing } from "./playing";
import { readout } from "./readout";
import type { Runs } from "./runs";
import type { Shell } from "./shell";
import { HERE, OPENED, YOUR_GAME } from "./state";
import type { Tab } from "./tabs";
import { KEYS, STOPS } from "./tour";
import type { Touring } from "./touring";

/** Forms of a saved run. */
const FORMS = [
  ["trace", "Trace", ".json.gz", "whole run; opens here and in Python"],
  ["page", "Page", ".html", "interactive; opens in any browser, offline"],
];
/** Forms of what is shown, which need no Python. */
const PICTURES = [
  ["drawing", "Vector drawing", ".svg", "the staircase and the charts of the open tab"],
  ["paper", "Paper", ".pdf", "the page as it is, by the browser's print"],
];
const BADGES = {
  none: "No run",
  recording: "Recording",
  live: "Live run",
  finished: "Finished run",
};
const THEMES = { system: "System", light: "Light", dark: "Dark" };
const THEME_MENU = { class: "hsd-theme", label: "Theme", title: "Theme of the page" };
/** Pixels by which the tabs may be below the top of their bar where that is in its place. */
const SLACK = 12;
/** What the parts are drawn from, and what their controls do. */
export interface Page extends Shell {
  /** The sheet of keys. */
  sheet: HTMLDialogElement;
  runs: Runs;
  tour: Touring;
  game: Playing;
}

function saveAs({ host, root, run }: Page, topic: string) {
  if (topic === "paper") return print();
  if (topic !== "drawing") return download(host, { about: topic, run: run() ?? undefined });
  save({ name: "hsd_viz_charts.svg", type: "image/svg+xml", bytes: drawingOf(root) });
}
/** The runs that can be shown: [name, title]. */
function runsOf({ host, store }: Page): string[][] {
  const { here, opened, kind } = store.state;
  const options = host.about.recordings.map(({ name, title }) => [name, title]);
  if (here || kind === "live") options.unshift([HERE, "Run decoded here"]);
  if (opened) {
    const isGame = opened.name === YOUR_GAME;
    options.push([OPENED, isGame ? opened.name : `${opened.name} (your file)`]);
  }
  return options;
}
/** The menu that saves the run shown. */
function saveMenu(page: Page) {
  const { host, group, store, tried } = page;
  // Nothing whole to save yet. A summary cannot be disabled: it is kept from opening.
  const unsaved = store.state.busy || !group.store.tokens.length;
  if (unsaved) page.root.querySelector(".hsd-save")?.removeAttribute("open");
  const keepClosed = (e: Event) => {
    if (unsaved) e.preventDefault();
  };
  const closeByKey = (e: KeyboardEvent & { currentTarget: HTMLElement }) => {
    if (e.key === "Escape") e.currentTarget.removeAttribute("open");
  };
  const form = ([topic, words, ending, hint]: string[]) => {
    const take = (e: { target: HTMLElement }) => {
      e.target.closest("details")?.removeAttribute("open");
      tried(() => saveAs(page, topic), "Save failed")();
    };
    return html`<button type="button" role="menuitem" @click=${take}>
      <span><strong>${words}</strong> <code>${ending}</code></span
      ><small>${hint}</small>
    </button>`;
  };
  const forms = host.file && !store.state.lost ? [...FORMS, ...PICTURES] : PICTURES;
  return html`<details class="hsd-save" @keydown=${closeByKey}>
    <summary class="hsd-quiet" role="button" aria-disabled=${unsaved} @click=${keepClosed}>
      Save
    </summary>
    <div role="menu" aria-label="Save the run as">${forms.map(form)}</div>
  </details>`;
}
/** The button of the tour, where the page has its recordings. */
function tourButton({ host, store, tour, tried }: Page) {
  const names = host.about.recordings.map(({ name }) => name);
  if (!STOPS.every(({ recording }) => names.includes(recording))) return nothing;
  const kept = KEYS.indexOf(tour.kept);
  const key = store.state.tour || KEYS[Math.max(0, kept)];
  const words = kept > 0 ? `Resume the tour (${kept + 1}/${KEYS.length})` : "Take the tour";
  return html`<button
    type="button"
    class="hsd-quiet hsd-tour-button"
    ?disabled=${store.state.busy}
    @click=${tried(() => tour.stop(key), "The tour cannot start")}
  >
    ${words}
  </button>`;
}
/** The row of the run: which one is shown, what it is, and its files. */
export function picker(page: Page) {
  const { host, store, runs, tried } = page;
  const { shown, busy } = store.state;
  const open = (value: string) => tried(() => runs.open(value), "Open failed")();
  const take = (file: globalThis.File) => tried(() => runs.take(file), "Open failed")();
  return html`<div class="hsd-recordings">
    ${field("Run", menu(runsOf(page), shown, open, { disabled: busy }))}${status(page)}${
      host.open
        ? html`<button
            type="button"
            class="hsd-quiet"
            ?disabled=${busy}
            @click=${() => choose(".json,.gz", take)}
          >
            Open a trace
          </button>`
        : nothing
    }${saveMenu(page)}${tourButton(page)}
  </div>`;
}
export function header({ host, root, uid, store, sheet, game, runs }: Page) {
  const themes = (window as { hsdTheme?: { chosen(): string; choose(name: string): void } })
    .hsdTheme;
  const { busy, drawer } = store.state;
  const turn = () => {
    if (busy) return runs.cancel();
    store.set({ drawer: !drawer });
    if (!drawer)
      root.querySelector<HTMLElement>(".hsd-controls select")?.focus({ preventScroll: true });
  };
  const skip = (e: Event) => {
    // In a notebook, JupyterLab handles fragment links.
    e.preventDefault();
    root.querySelector<HTMLElement>(".hsd-main [role=tab][aria-selected=true]")?.focus();
  };
  return html`<div class="hsd-header">
    <a class="hsd-skip" href="#${uid}" @click=${skip}>Skip to the run shown</a>
    <h1>hsd_viz</h1>
    <p>
      <strong>Speculative decoding:</strong>
      <span>
        a cheap drafter proposes several tokens, one pass of the large model verifies them:
      </span>
      the same distribution, faster.
    </p>
    ${themes ? menu(Object.entries(THEMES), themes.chosen(), themes.choose, THEME_MENU) : nothing}
    <div class="hsd-header-tools">
      ${
        host.about.games.length
          ? html`<button type="button" title="Beat the drafter"
  @click=${() => game.play()}>Play</button>`
          : nothing
      }<button
        type="button"
        title="?"
        class="hsd-keys-button"
        @click=${() => sheet.showModal()}
      >
        Keys
      </button>
    </div>
    ${
      host.decode
        ? html`<button type="button" class="hsd-form-switch hsd-quiet" aria-expanded=${drawer}
  @click=${turn}>${busy ? "Cancel run" : drawer ? "Close form" : "New run"}</button>`
        : nothing
    }
    ${sheet}
  </div>`;
}
/** What kind of run is shown and what it is for, or how far it is. */
function status({ store }: Page) {
  const { kind, blurb, busy, stage } = store.state;
  const known = Boolean(stage.total) && typeof stage.done === "number";
  return html`<div class="hsd-now">
    <span class="hsd-badge hsd-badge-${kind}">${BADGES[kind]}</span>
    ${
      busy
        ? nothing
        : html`<span class="hsd-lede" title=${blurb || nothing}>${blurb || nothing}</span>`
    }
    <span class="hsd-stage hsd-note hsd-number" role="status">${stage.text}</span>
    ${
      busy
        ? html`<progress
            class="hsd-meter"
            aria-label="Progress"
            max=${known ? stage.total : nothing}
            value=${known ? stage.done : nothing}
          ></progress>`
        : nothing
    }
  </div>`;
}
/** What the run shown says at once, where the tab says nothing itself; hidden while it grows. */
export function headline(page: Page) {
  const { store, group, tabs } = page;
  const { busy, tab } = store.state;
  const found = busy || tabs[tab].says ? null : speedOf(group.store);
  return html`<p class="hsd-headline" ?hidden=${!found}>${headlineOf(found, originOf(page))}</p>`;
}
/** The line that unfolds the text above the tabs. */
export function textSwitch({ store }: Page) {
  const { text } = store.state;
  return html`<button
    type="button"
    class="hsd-quiet hsd-text-switch"
    aria-expanded=${text}
    @click=${() => store.set({ text: !text })}
  >
    ${text ? "▾ Fold the text" : "▸ Show the text"}
  </button>`;
}
/** The tabs, and links to the parts of the open one. */
export function tabBar({ root, uid, store, tabs }: Page, parts: HTMLElement) {
  const { tab } = store.state;
  const pick = (k: number) => {
    store.set({ tab: k });
    const button = root.querySelector<HTMLElement>(`#${uid}-t${k}`);
    button?.focus({ preventScroll: true });
    button?.scrollIntoView({ block: "nearest", inline: "nearest" });
    // Where the bar has left its place, it is at the top: so begins the tab.
    const main = root.querySelector<HTMLElement>(".hsd-main");
    const list = button?.parentElement;
    const topOf = (node?: HTMLElement | null) => node?.getBoundingClientRect().top ?? 0;
    if (topOf(list) > topOf(main) + SLACK) main?.scrollIntoView({ block: "start" });
  };
  const last = tabs.length - 1;
  const to = (k: number) => () => pick(k % tabs.length);
  const moves = { ArrowRight: to(tab + 1), ArrowLeft: to(tab + last), Home: to(0), End: to(last) };
  const keys = (e: KeyboardEvent) => press(e, moves);
  const button = ({ title }: Tab, k: number) =>
    html`<button
      type="button"
      role="tab"
      id="${uid}-t${k}"
      aria-controls="${uid}-p"
      aria-selected=${k === tab}
      tabindex=${k === tab ? 0 : -1}
      @click=${() => pick(k)}
    >
      ${title}
    </button>`;
  return html`<div class="hsd-tabbar">
    <div class="hsd-tabs" role="tablist" aria-label="Views of the run" @keydown=${keys}>
      ${tabs.map(button)}
    </div>
    ${parts}
  </div>`;
}
/** What the open tab shows. */
export function panel({ host, uid, store, group, tabs }: Page, content: HTMLElement) {
  const { tab, busy } = store.state;
  const first =
    tab === 0
      ? readout(group.store, busy, host.about.sources, uid)
      : html`<h2 class="hsd-heard">${tabs[tab].title}</h2>`;
  return html`<div
    class="hsd-panel"
    role="tabpanel"
    id="${uid}-p"
    aria-labelledby="${uid}-t${tab}"
    data-tab=${slug(tabs[tab].title)}
  >
    ${first}${content}
  </div>`;
}
/** Why the host is lost; `address`: a reload of the page asks again. */
export function lost(why: string, address: boolean) {
  if (!why) return nothing;
  const kept =
    "A run in progress was interrupted. " +
    "Prompt, stack, settings and finished runs are kept in this browser.";
  const reload = html`<button type="button" class="hsd-quiet" @click=${() => location.reload()}>
    Reload
  </button>`;
  return html`<div class="hsd-lost" role="alert">
    <strong>${why}</strong>${
      address
        ? html`<span>${kept}</span>${reload}`
        : html`<span>Run the cell again to continue.</span>`
    }
  </div>`;
}
