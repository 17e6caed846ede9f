// The bar of the run: which one is shown, its player, and the menu of what else there is to it.
// Below the tabs on every tab that is about the run.
import { html, nothing } from "lit-html";
import { menu } from "../lib/fields";
import type { Page } from "./parts";
import { runMenu } from "./runmenu";
import { HERE, OPENED, YOUR_GAME } from "./state";

const BADGES = {
  none: "No run",
  recording: "Recording",
  live: "Live run",
  finished: "Finished run",
};

/** A title whose speed-up is first, where it is not cut: "1.62× A summary". */
export const speedFirst = (title: string) => title.replace(/^(.+) \(([\d.]+×).*\)$/, "$2 $1");

/** The runs that can be shown: [name, title]. */
function runsOf({ host, store }: Page): string[][] {
  const { here, opened, kind } = store.state;
  const options = host.about.recordings.map(({ name, title }) => [name, speedFirst(title)]);
  if (here || kind === "live") options.unshift([HERE, "Run decoded here"]);
  if (opened) {
    const isGame = opened.name === YOUR_GAME;
    options.push([OPENED, isGame ? opened.name : `${opened.name} (your file)`]);
  }
  return options;
}

/** The bar around the `player`; `folds`: the tab has the text closed. */
export function runBar(page: Page, player: HTMLElement, folds: boolean) {
  const { store, runs, tried } = page;
  const { shown, busy } = store.state;
  const open = (value: string) => tried(() => runs.open(value), "Open failed")();
  const select = menu(runsOf(page), shown, open, {
    class: "hsd-run-select",
    label: "Run shown",
    disabled: busy,
  });
  return html`<div class="hsd-runbar" role="group" aria-label="Run">
    ${select}
    <div class="hsd-runbar-player">${player}</div>
    ${runMenu(page, folds)}
  </div>`;
}

/** What kind of run is shown and how far it is: drawn while one is in progress. */
export function status({ store }: Page) {
  const { kind, busy, stage } = store.state;
  const known = Boolean(stage.total) && typeof stage.done === "number";
  return html`<div class="hsd-now" ?hidden=${!busy}>
    <span class="hsd-badge hsd-badge-${kind}">${BADGES[kind]}</span>
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
