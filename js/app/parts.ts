// Templates of the page around the run: header, headline, tabs, and the banner of a lost host. The
// bar of the run is in runbar.ts.
import { html, nothing } from "lit-html";
import { press } from "../lib/dom";
import { slug } from "./address";
import { headlineOf, speedOf } from "./headline";
import { originOf } from "./origin";
import type { Playing } from "./playing";
import { readout } from "./readout";
import type { Runs } from "./runs";
import type { Shell } from "./shell";
import type { Tab } from "./tabs";
import { themeMenu } from "./theme";
import type { Touring } from "./touring";

/** Pixels of tolerance when deciding whether the sticky bar of tabs has left its place. */
const SLACK = 12;
/** The data that the parts show, and the actions of their controls. */
export interface Page extends Shell {
  /** The dialog of keys and words. */
  sheet: HTMLDialogElement;
  runs: Runs;
  tour: Touring;
  game: Playing;
}

export function header({ host, root, uid, store, sheet, game, runs }: Page) {
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
        a cheap drafter proposes several tokens, one pass of the model verifies them:
      </span>
      same distribution, at times faster.
    </p>
    ${themeMenu()}
    <div class="hsd-header-tools">
      ${
        host.about.games.length
          ? html`<button type="button" title="Beat the drafter"
  @click=${() => game.play()}>The game</button>`
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
/** The headline of the run shown: on the first tab only, and not while the run grows. */
export function headline(page: Page) {
  const { store, group } = page;
  const { busy, tab, blurb } = store.state;
  const speed = busy || tab !== 0 ? null : speedOf(group.store);
  return html`<p class="hsd-headline" ?hidden=${!speed}>
    ${headlineOf(speed, originOf(page))} <span class="hsd-blurb">${blurb}</span>
  </p>`;
}
/** Open a tab, and focus its button. */
function openTab({ root, uid, store }: Page, k: number) {
  store.set({ tab: k });
  const button = root.querySelector<HTMLElement>(`#${uid}-t${k}`);
  button?.focus({ preventScroll: true });
  button?.scrollIntoView({ block: "nearest", inline: "nearest" });
  // If the bar sticks to the top of the window, scroll to the beginning of the tab.
  const main = root.querySelector<HTMLElement>(".hsd-main");
  const list = button?.parentElement;
  const topOf = (node?: HTMLElement | null) => node?.getBoundingClientRect().top ?? 0;
  if (topOf(list) > topOf(main) + SLACK) main?.scrollIntoView({ block: "start" });
}
/** The tabs, and links to the parts of the open tab. */
export function tabBar(page: Page, parts: HTMLElement) {
  const { uid, store, tabs } = page;
  const { tab } = store.state;
  const pick = (k: number) => openTab(page, k);
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
/** The way to the next tab; after the last one, to the lessons if the page has their address. */
function nextOf(page: Page) {
  const { tab } = page.store.state;
  const next = page.tabs[tab + 1];
  const { lessons } = page.host.about;
  if (next)
    return html`<button type="button" class="hsd-next" @click=${() => openTab(page, tab + 1)}>
      Next: ${next.title}
    </button>`;
  return lessons ? html`<a class="hsd-next" href=${lessons}>Next: the lessons</a>` : nothing;
}

/** The panel of the open tab. */
export function panel(page: Page, content: HTMLElement) {
  const { host, uid, store, group, tabs } = page;
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
    ${first}${content}${nextOf(page)}
  </div>`;
}
/** The banner of a lost host; `address`: reloading the page connects again. */
export function lost(why: string, address: boolean) {
  if (!why) return nothing;
  const recovery =
    "A run in progress was interrupted. " +
    "Prompt, stack, settings and finished runs are kept in this browser.";
  const reload = html`<button type="button" class="hsd-quiet" @click=${() => location.reload()}>
    Reload
  </button>`;
  return html`<div class="hsd-lost" role="alert">
    <strong>${why}</strong>${
      address
        ? html`<span>${recovery}</span>${reload}`
        : html`<span>Run the cell again to continue.</span>`
    }
  </div>`;
}
