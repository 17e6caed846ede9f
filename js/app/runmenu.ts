// The menu of the run: its files, the tour, and the text beside a tab.
import { html, nothing } from "lit-html";
import { press } from "../lib/dom";
import { menu } from "../lib/fields";
import { save } from "../lib/save";
import { SPEEDS } from "../staircase/controls";
import { drawingOf } from "./drawing";
import { choose, download } from "./files";
import type { Page } from "./parts";
import { KEYS, STOPS } from "./tour";

/** What a run is saved as. */
interface Form {
  topic: string;
  words: string;
  ending: string;
  hint: string;
}
/** Forms of a saved run. */
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
/** Forms of what is shown, which need no Python. */
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

/** An item: what it does, and its words. */
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
/** The tour, where the page has its recordings. */
function tourItem({ host, store, tour, tried }: Page) {
  const names = host.about.recordings.map(({ name }) => name);
  if (!STOPS.every(({ recording }) => names.includes(recording))) return nothing;
  const kept = KEYS.indexOf(tour.kept);
  const key = store.state.tour || KEYS[Math.max(0, kept)];
  const words = kept > 0 ? `Resume the tour (${kept + 1}/${KEYS.length})` : "Take the tour";
  const act = tried(() => tour.stop(key), "The tour cannot start");
  return item({ act, words, disabled: store.state.busy, cls: "hsd-tour-button" });
}
/** Unfolds the text above what a tab shows of it; `folds`: the tab has it closed. */
function textItem({ store }: Page, folds: boolean) {
  if (!folds) return nothing;
  const { text } = store.state;
  const act = () => store.set({ text: !text });
  return item({ act, words: text ? "Hide the text" : "Show the text" });
}
function saveItems(page: Page) {
  const { host, group, store, tried } = page;
  // Nothing whole to save yet.
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
/** The speed of playing, where the bar has no room for it. */
function speedField({ group }: Page) {
  const pace = (value: string) => group.pace(value === "recorded" ? value : Number(value));
  return html`<label class="hsd-menu-speed"
    >Play at ${menu(SPEEDS, String(group.cursor.speed), pace)}</label
  >`;
}

/** Open: below its button, with the focus on its first item. */
function opened(e: Event) {
  const list = e.target as HTMLElement;
  if ((e as ToggleEvent).newState !== "open") return;
  const box = list.previousElementSibling?.getBoundingClientRect();
  if (!box) return;
  list.style.top = `${box.bottom + APART}px`;
  list.style.right = `${document.documentElement.clientWidth - box.right}px`;
  list.style.maxHeight = `calc(100vh - ${box.bottom + 2 * APART}px)`;
  list.querySelector<HTMLElement>("[role=menuitem]:not(:disabled)")?.focus();
}
/** Arrow keys go round the items. */
function walk(e: KeyboardEvent) {
  const list = e.currentTarget as HTMLElement;
  const items = [...list.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const to = (place: number) => () => items.at(place % items.length)?.focus();
  press(e, { ArrowDown: to(at + 1), ArrowUp: to(at - 1), Home: to(0), End: to(-1) });
}

/** The button of the menu, and the menu. */
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
    <div class="hsd-run-menu" popover id=${id} @toggle=${opened}>
      <div role="menu" aria-label="Run" @keydown=${walk}>
        ${textItem(page, folds)}${openItem(page)}${tourItem(page)}
        <div role="group" aria-label="Save the run as">
          <p aria-hidden="true">Save as</p>
          ${saveItems(page)}
        </div>
      </div>
      ${speedField(page)}
    </div>`;
}
