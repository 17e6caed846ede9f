// The parts of the page around the run: header, recordings and saving, status, tabs, and the banner
// of a lost host.
import { html, nothing } from "lit-html";
import { press } from "../lib/dom";
import { field, menu } from "../lib/fields";
import { slug } from "./address";
import { drawingOf } from "./drawing";
import { choose, download, save } from "./files";
import { speedOf } from "./headline";
import { readout } from "./readout";
import { HERE, OPENED, YOUR_GAME } from "./state";
import { APART, type Context, type Tab } from "./tabs";
import { KEYS, STOPS } from "./tour";

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
/** What the parts are drawn from, and what their controls do. */
export interface Page extends Context {
  root: HTMLElement;
  uid: string;
  tabs: Tab[];
  sheet: HTMLDialogElement;
  /** A listener that calls what may fail; an error becomes a card. */
  tried(act: () => unknown, title?: string): () => void;
  open(shown: string): Promise<void>;
  openFile(file: globalThis.File): void;
  /** Show a stop of the tour; `tourKept`: the one where the visitor left it. */
  stop(key: string): Promise<void>;
  tourKept(): string;
  /** Play the game of the page's first screen. */
  game(): void;
  cancel(): void;
}

function saveAs({ host, root, run }: Page, topic: string) {
  if (topic === "paper") return print();
  if (topic !== "drawing") return download(host, { about: topic, run: run() ?? undefined });
  save({ name: "hsd_viz_charts.svg", type: "image/svg+xml", bytes: drawingOf(root) });
}
export function picker(page: Page) {
  const { host, group, store, tried } = page;
  const { recordings } = host.about;
  const { shown, here, opened, busy, kind, tour: key } = store.state;
  const options = [
    ...(here || kind === "live" ? [[HERE, "Run decoded here"]] : []),
    ...recordings.map((r) => [r.name, r.title]),
    ...(opened
      ? [[OPENED, opened.name === YOUR_GAME ? opened.name : `${opened.name} (your file)`]]
      : []),
  ];
  const form = ([topic, words, ending, hint]: string[]) =>
    html`<button
      type="button"
      role="menuitem"
      @click=${(e: { target: HTMLElement }) => {
        e.target.closest("details")?.removeAttribute("open");
        tried(() => saveAs(page, topic), "Save failed")();
      }}
    >
      <span><strong>${words}</strong> <code>${ending}</code></span
      ><small>${hint}</small>
    </button>`;
  const kept = KEYS.indexOf(page.tourKept());
  const stop = key || KEYS[Math.max(0, kept)];
  const tour = tried(() => page.stop(stop), "The tour cannot start");
  // Nothing whole to save yet. A summary cannot be disabled: it is kept from opening.
  const unsaved = busy || !group.store.tokens.length;
  const keepClosed = (e: Event) => {
    if (unsaved) e.preventDefault();
  };
  if (unsaved) page.root.querySelector(".hsd-save")?.removeAttribute("open");
  const forms = host.file && !store.state.lost ? [...FORMS, ...PICTURES] : PICTURES;
  return html`<div class="hsd-recordings">
    ${field(
      "Run",
      menu(options, shown, (value) => tried(() => page.open(value), "Open failed")(), {
        disabled: busy,
      }),
    )}
    ${
      host.open
        ? html`<button type="button" class="hsd-quiet" ?disabled=${busy}
  @click=${() => choose(".json,.gz", page.openFile)}>Open a trace</button>`
        : nothing
    }
    <details
      class="hsd-save"
      @keydown=${(e: KeyboardEvent & { currentTarget: HTMLElement }) => {
        if (e.key === "Escape") e.currentTarget.removeAttribute("open");
      }}
    >
      <summary class="hsd-quiet" role="button" aria-disabled=${unsaved} @click=${keepClosed}>
        Save
      </summary>
      <div role="menu" aria-label="Save the run as">${forms.map(form)}</div>
    </details>
    ${
      STOPS.every((s) => recordings.some((r) => r.name === s.recording))
        ? html`<button
            type="button"
            class="hsd-quiet hsd-tour-button"
            ?disabled=${busy}
            @click=${tour}
          >
            ${kept > 0 ? `Resume the tour (${kept + 1}/${KEYS.length})` : "Take the tour"}
          </button>`
        : nothing
    }
  </div>`;
}
export function header({ host, root, uid, store, sheet, game, cancel }: Page) {
  const themes = (window as { hsdTheme?: { chosen(): string; choose(name: string): void } })
    .hsdTheme;
  const { busy, drawer } = store.state;
  const turn = () => {
    if (busy) return cancel();
    store.set({ drawer: !drawer });
    if (!drawer)
      root.querySelector<HTMLElement>(".hsd-controls select")?.focus({ preventScroll: true });
  };
  const skip = (e: Event) => {
    // In a notebook, JupyterLab handles fragment links.
    e.preventDefault();
    root.querySelector<HTMLElement>(".hsd-main select, .hsd-main button")?.focus();
  };
  return html`<div class="hsd-header">
    <a class="hsd-skip" href="#${uid}" @click=${skip}>Skip to the run shown</a>
    <h1>hsd_viz</h1>
    <p>
      <strong>Speculative decoding:</strong>
      <span>
        a cheap drafter proposes several tokens, one pass of the large model verifies them:
      </span>
      the same text, faster.
    </p>
    ${themes ? menu(Object.entries(THEMES), themes.chosen(), themes.choose, THEME_MENU) : nothing}
    <div class="hsd-header-tools">
      ${
        host.about.games.length
          ? html`<button type="button" title="Beat the drafter"
  @click=${() => game()}>Play</button>`
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
export function status({ store }: Page) {
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
/** What the run shown says at once; null while it grows. */
export function speedLine({ host, group, store }: Page) {
  const found = store.state.busy ? null : speedOf(group.store, host.about.games.length > 0);
  return html`<p class="hsd-headline" ?hidden=${!found}>
    <strong>${found?.figure}</strong> ${found?.words}
  </p>`;
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
export function explorer({ host, root, uid, store, group, tabs }: Page, panel: HTMLElement) {
  const { tab, busy } = store.state;
  const pick = (k: number) => {
    store.set({ tab: k });
    const button = root.querySelector<HTMLElement>(`#${uid}-t${k}`);
    button?.focus({ preventScroll: true });
    // Just below the buttons of the player where they stay visible: what is between is hidden as a
    // whole.
    const player = root.querySelector<HTMLElement>(".hsd-player-row");
    const row = player?.closest(".hsd-transport");
    const stays = row && getComputedStyle(row).position === "sticky";
    const covered = stays && !APART.includes(tabs[k].title) ? (player?.offsetHeight ?? 0) + 8 : 0;
    const explorer = root.querySelector<HTMLElement>(".hsd-explorer");
    explorer?.style.setProperty("scroll-margin-top", `${covered}px`);
    const stuck = !stays || (player?.getBoundingClientRect().top ?? 0) <= 8;
    // A tab that would show only its first lines goes up, below the player.
    const low = (button?.getBoundingClientRect().bottom ?? 0) > innerHeight * 0.35;
    button?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (low || stuck) explorer?.scrollIntoView({ block: "start" });
  };
  const first =
    tab === 0
      ? readout(group.store, busy, host.about.sources, uid)
      : html`<h2 class="hsd-heard">${tabs[tab].title}</h2>`;
  const last = tabs.length - 1;
  const to = (k: number) => () => pick(k % tabs.length);
  const moves = { ArrowRight: to(tab + 1), ArrowLeft: to(tab + last), Home: to(0), End: to(last) };
  const keys = (e: KeyboardEvent) => press(e, moves);
  return html`<div class="hsd-explorer">
    <div class="hsd-tabs" role="tablist" aria-label="Views of the run" @keydown=${keys}>
      ${tabs.map(
        (t, k) =>
          html`<button
            type="button"
            role="tab"
            id="${uid}-t${k}"
            aria-controls="${uid}-p"
            aria-selected=${k === tab}
            tabindex=${k === tab ? 0 : -1}
            @click=${() => pick(k)}
          >
            ${t.title}
          </button>`,
      )}
    </div>
    <div
      class="hsd-panel"
      role="tabpanel"
      id="${uid}-p"
      aria-labelledby="${uid}-t${tab}"
      data-tab=${slug(tabs[tab].title)}
    >
      ${first}${panel}
    </div>
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
