// Parts of a scene: its form with a button that starts and cancels work, the views of its runs, and
// the recorded runs that it shows at first.
import { html, render } from "lit-html";
import { make } from "../lib/dom";
import type { Snapshot } from "../lib/run_data";
import type { Article, Run, WorkContext } from "./article";
import { recording } from "./recordings";

/** The note above the recorded runs of a scene. */
const RECORDED = "Recorded on a CPU. The button replaces it by a run of this tab.";

export const times = (x: number) => `${x.toFixed(2)}\u00a0×`;
export const sceneElement = (name: string) =>
  document.getElementById(`scene-${name}`) as HTMLElement;

export const menu = (label: string, name: string, options: [value: string, words: string][]) =>
  html`<label
    >${label}
    <select name=${name}>
      ${options.map(([value, words]) => html`<option value=${value}>${words}</option>`)}
    </select></label
  >`;
export const tick = (name: string, value: string, words: unknown, on: boolean) =>
  html`<label><input type="checkbox" name=${name} value=${value} ?checked=${on} />${words}</label>`;

/** The form of a scene: its controls, and a button that starts work and cancels it. */
export interface SceneForm {
  controls: unknown;
  /** Label of the button. */
  button: string;
  act(given: FormData, work: WorkContext): Promise<void>;
}

/** Append the form of a scene to its element, and below it the element of the output. */
export function openScene(el: HTMLElement, out: HTMLElement, { controls, button, act }: SceneForm) {
  const form = make("form", "controls");
  el.replaceChildren(form, out);
  let running: AbortController | null = null;
  const paint = (status = "", bad = false) =>
    render(
      html`${controls}<button class="main">${running ? "Cancel" : button}</button
        ><span class=${bad ? "status bad" : "status"} role="status">${status}</span>`,
      form,
    );
  const submit = async () => {
    if (running) return running.abort();
    running = new AbortController();
    paint();
    let failed = "";
    try {
      await act(new FormData(form), { signal: running.signal, say: paint });
    } catch (error) {
      failed = (error as Error).message;
    }
    running = null;
    paint(failed, Boolean(failed));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });
  paint();
}

/** Return a function that draws views of one group when first called, and returns the group. */
export function views(
  { page, data }: Article,
  group: string,
  parts: [name: string, el: HTMLElement][],
) {
  const state = {
    palette: data.palette,
    group,
    cursor: null,
    pinned: -1,
    live: false,
    details: false,
  };
  let isDrawn = false;
  return () => {
    if (!isDrawn) for (const [name, el] of parts) page.mount(name, { ...state }, el);
    isDrawn = true;
    return page.hsdGroup(group);
  };
}

/** Draw the race of runs; the first one is the reference. */
export function raceOf({ page, data }: Article, el: HTMLElement, runs: Snapshot[]) {
  const traits = {
    palette: data.palette,
    sources: data.sources,
    pinned: -1,
    time: -1,
    brief: true,
  };
  el.replaceChildren();
  page.mount("versus", { ...traits, runs }, el);
}
export function race(article: Article, el: HTMLElement, runs: Iterable<Run>) {
  const snapshots = [...runs].map(({ store }) => store.snapshot());
  raceOf(article, el, snapshots);
}

/**
 * Show recorded runs in an element until the scene has a run of its own; if that fails, the scene
 * only has its button. Returns a function to call when the scene has its own run.
 */
export function opened(names: string[], el: HTMLElement, show: (runs: Snapshot[]) => void) {
  const note = make("p", "note", RECORDED);
  const isOwn = () => el.dataset.own === "yes";
  Promise.all(names.map(recording)).then((runs) => {
    if (isOwn()) return;
    el.before(note);
    show(runs);
  }, reportError);
  return () => {
    el.dataset.own = "yes";
    note.remove();
  };
}
