// The bar of the run: the choice of the run, its player, and its menu. It is below the tabs on
// every tab that is about the run.
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

/** Move the speed-up of a title to its front, where it is not cut: "1.62× A summary". */
export const speedFirst = (title: string) => title.replace(/^(.+) \(([\d.]+×).*\)$/, "$2 $1");

/** Return the runs that can be shown: [name, title]. */
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

/** The bar around the `player`; `folds`: the open tab folds the text. */
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

/** The kind of the run shown, and the progress of a run. */
export function status({ store }: Page) {
  const { kind, busy, stage } = store.state;
  const hasShare = Boolean(stage.total) && typeof stage.done === "number";
  return html`<div class="hsd-now" ?hidden=${!busy}>
    <span class="hsd-badge hsd-badge-${kind}">${BADGES[kind]}</span>
    <span class="hsd-stage hsd-note hsd-number" role="status">${stage.text}</span>
    ${
      busy
        ? html`<progress
            class="hsd-meter"
            aria-label="Progress"
            max=${hasShare ? stage.total : nothing}
            value=${hasShare ? stage.done : nothing}
          ></progress>`
        : nothing
    }
  </div>`;
}
