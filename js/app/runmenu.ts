// The menu of the run: opening and saving files, the tour, and unfolding the text.
import { html, nothing } from "lit-html";
import { press } from "../lib/dom";
import { menu } from "../lib/fields";
import { save } from "../lib/save";
import { SPEEDS } from "../staircase/controls";
import { drawingOf } from "./drawing";
import { choose, download } from "./files";
import type { Page } from "./parts";
import { themeMenu } from "./theme";
import { KEYS, STOPS } from "./tour";

/** A file format for saving a run. */
interface Form {
  topic: string;
  words: string;
  ending: string;
  hint: string;
}
/** Formats of a run that Python writes. */
const FORMS: Form[] = [
  {
    topic: "trace",
    words: "Trace",
    ending: ".json.gz",
    hint: "whole run; opens here and in Python",
  },
  {
    topic: "page",
    words: "Page",
    ending: ".html",
    hint: "interactive; opens in any browser, offline",
  },
];
/** Formats of the charts shown, which need no Python. */
const PICTURES: Form[] = [
  {
    topic: "drawing",
    words: "Vector drawing",
    ending: ".svg",
    hint: "the charts of the open tab",
  },
  {
    topic: "paper",
    words: "Paper",
    ending: ".pdf",
    hint: "the page as it is, by the browser's print",
  },
];
/** Pixels between the button and the menu. */
const APART = 6;

function saveAs({ host, root, run }: Page, topic: string) {
  if (topic === "paper") return print();
  if (topic !== "drawing") return download(host, { about: topic, run: run() ?? undefined });
  save({ name: "hsd_viz_charts.svg", type: "image/svg+xml", bytes: drawingOf(root) });
}

/** An item of the menu. */
interface Item {
  act: () => void;
  words: unknown;
  disabled?: boolean;
  cls?: string;
}
function item({ act, words, disabled = false, cls = "" }: Item) {
  const take = (e: Event) => {
    (e.currentTarget as HTMLElement).closest<HTMLElement>("[popover]")?.hidePopover?.();
    act();
  };
  return html`<button type="button" role="menuitem" class=${cls} ?disabled=${disabled}
    @click=${take}>
    ${words}
  </button>`;
}

function openItem({ host, runs, store, tried }: Page) {
  if (!host.open) return nothing;
  const take = (file: File) => tried(() => runs.take(file), "Open failed")();
  const act = () => choose(".json,.gz", take);
  return item({ act, words: "Open a trace", disabled: store.state.busy });
}
/** The item of the tour; nothing on a page without its recordings. */
function tourItem({ host, store, tour, tried }: Page) {
  const names = host.about.recordings.map(({ name }) => name);
  if (!STOPS.every(({ recording }) => names.includes(recording))) return nothing;
  const keptStop = KEYS.indexOf(tour.kept);
  const key = store.state.tour || KEYS[Math.max(0, keptStop)];
  const words = keptStop > 0 ? `Resume the tour (${keptStop + 1}/${KEYS.length})` : "Take the tour";
  const act = tried(() => tour.stop(key), "The tour cannot start");
  return item({ act, words, disabled: store.state.busy, cls: "hsd-tour-button" });
}
/** The item that unfolds the text; `folds`: the open tab folds it. */
function textItem({ store }: Page, folds: boolean) {
  if (!folds) return nothing;
  const { text } = store.state;
  const act = () => store.set({ text: !text });
  return item({ act, words: text ? "Hide the text" : "Show the text" });
}
function saveItems(page: Page) {
  const { host, group, store, tried } = page;
  // The run is incomplete.
  const disabled = store.state.busy || !group.store.tokens.length;
  const forms = host.file && !store.state.lost ? [...FORMS, ...PICTURES] : PICTURES;
  return forms.map(({ topic, words, ending, hint }) =>
    item({
      act: tried(() => saveAs(page, topic), "Save failed"),
      words: html`<span><strong>${words}</strong> <code>${ending}</code></span
        ><small>${hint}</small>`,
      disabled,
    }),
  );
}
/** The playback speed and the theme, where the bar and the header have no room for them. */
function phoneFields({ group }: Page) {
  const pace = (value: string) => group.pace(value === "recorded" ? value : Number(value));
  return html`<div class="hsd-menu-phone">
    <label>Play at ${menu(SPEEDS, String(group.cursor.speed), pace)}</label>${themeMenu()}
  </div>`;
}

/** Place the opened menu below its button, and focus its first item. */
function onOpen(e: Event) {
  const list = e.target as HTMLElement;
  if ((e as ToggleEvent).newState !== "open") return;
  const box = list.previousElementSibling?.getBoundingClientRect();
  if (!box) return;
  list.style.top = `${box.bottom + APART}px`;
  list.style.right = `${document.documentElement.clientWidth - box.right}px`;
  list.style.maxHeight = `calc(100vh - ${box.bottom + 2 * APART}px)`;
  list.querySelector<HTMLElement>("[role=menuitem]:not(:disabled)")?.focus();
}
/** Move the focus between the items by the arrow keys, cyclically. */
function walk(e: KeyboardEvent) {
  const list = e.currentTarget as HTMLElement;
  const items = [...list.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)")];
  const index = items.indexOf(document.activeElement as HTMLElement);
  const to = (place: number) => () => items.at(place % items.length)?.focus();
  press(e, { ArrowDown: to(index + 1), ArrowUp: to(index - 1), Home: to(0), End: to(-1) });
}

/** The menu and its button. */
export function runMenu(page: Page, folds: boolean) {
  const id = `${page.uid}-menu`;
  return html`<button
      type="button"
      class="hsd-quiet hsd-menu-button"
      aria-haspopup="menu"
      aria-label="Run: files, tour and text"
      popovertarget=${id}
    >
      <span>Run</span> ⋯
    </button>
    <div class="hsd-run-menu" popover id=${id} @toggle=${onOpen}>
      <div role="menu" aria-label="Run" @keydown=${walk}>
        ${textItem(page, folds)}${openItem(page)}${tourItem(page)}
        <div role="group" aria-label="Save the run as">
          <p aria-hidden="true">Save as</p>
          ${saveItems(page)}
        </div>
      </div>
      ${phoneFields(page)}
    </div>`;
}
