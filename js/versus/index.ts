// The comparison of runs of one prompt: race, metrics and texts, computed from their columns.
import { html, nothing, render } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { make, press } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { drawNotice } from "../lib/notice";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Snapshot } from "../lib/run_data";
import type { Sources } from "../lib/stack";
import type { Suite } from "../lib/suites";
import { folded, tableOf as valuesOf } from "../lib/table";
import { term } from "../lib/tip";
import { unique } from "../lib/widget";
import { brief } from "../lib/words";
import {
  type Agreement,
  agreementOf,
  doubtsOf,
  factsOf,
  figuresTitle,
  refusalOf,
  storesOf,
  tableOf,
} from "./compare";
import { Race } from "./race";
import { letterTemplate } from "./race_controls";
import { type Runner, runnerOf } from "./race_time";
import { Texts } from "./texts";

export interface Traits {
  /** Runs in order. */
  runs: Snapshot[];
  sources: Sources;
  /** Speed-ups on many prompts, of which each run has its own. */
  suites?: Suite[];
  pinned: number;
  /** Initial time of the race in milliseconds; -1: it plays once when it is first visible. */
  time: number;
  /** Whether to show only the race, without figures and texts. */
  brief?: boolean;
  /** Whether only counts are known, so that nothing is stated about the texts. */
  textless?: boolean;
}
const SIGNS = { same: "=", apart: "≠", broken: "!" };

const agreementText = (agreement: Agreement[]) =>
  html`<ul class="hsd-vs-agreement">
    ${agreement.map(
      ({ state, words }) =>
        html`<li class="hsd-vs-${state}">
          <span class="hsd-vs-sign" aria-hidden="true">${SIGNS[state]}</span><span>${words}</span>
        </li>`,
    )}
  </ul>`;

/** The metrics of all runs, with definitions and differences to the first run. */
function metricsTable(runs: Runner[], palette: Palette) {
  const uid = unique();
  const cell = ({ value, difference }: { value: string; difference: string }) =>
    html`<span>${value}</span> <span class="hsd-vs-difference">${difference}</span>`;
  const heads = runs.map(
    (run) => html`${letterTemplate(run, palette)}<span class="hsd-heard">, ${run.title}</span>`,
  );
  const figures = tableOf(runs.map((r) => r.store));
  const table = (title: string, group: (typeof figures)[number]["group"]) => {
    const groupRows = figures.filter((row) => row.group === group);
    const rows = groupRows.map(({ name, definition, cells }, k) => [
      term(name, definition, `${uid}-${group}-${k}`),
      ...cells.map(cell),
    ]);
    return valuesOf(title, ["difference to A", ...heads], rows);
  };
  const tables = html`${table("Figures", "main")} ${table("More figures", "more")}
    ${table("Times of calls", "time")}`;
  const title = figuresTitle(runs.map(({ store }) => store.tokens.length));
  return html`<section class="hsd-vs-figures">${folded(title, tables)}</section>`;
}

/** Elements that handle their own keys. */
const FIELDS = "input, select";
const BUTTONS = "button";

/** What is compared. */
const aboutTemplate = (stores: Store[]) =>
  html`<p class="hsd-vs-about hsd-note">
    <code class="hsd-vs-prompt" title="prompt of all runs">${brief(stores[0].prompt)}</code>
    <span>${factsOf(stores).join(" · ")}</span>
  </p>`;

/** The view: the race and the texts of its runs. */
class VersusView {
  private readonly refusal = make("div", "hsd-vs-refusal");
  private readonly body = make("div", "hsd-vs-body");
  private readonly motion = matchMedia("(prefers-reduced-motion: reduce)");
  private readonly repaint = () => this.race?.paint();
  private race: Race | null = null;
  private texts: Texts | null = null;

  constructor(private readonly view: View<Traits>) {
    const { root } = view;
    root.classList.add("hsd-versus");
    root.append(this.refusal, this.body);
    // Capture keys, because the group handles the same ones for its own run.
    root.addEventListener("keydown", (event) => this.onKey(event), true);
    this.motion.addEventListener("change", this.repaint);
    view.on("change:runs", () => this.open());
    view.on("change:pinned", () => this.onPinned());
    this.open();
  }

  close() {
    this.race?.close();
    this.motion.removeEventListener("change", this.repaint);
  }

  private onKey(event: KeyboardEvent) {
    const isPress = event.key === "Enter" || event.key === " ";
    const ignored = isPress ? `${BUTTONS}, ${FIELDS}` : FIELDS;
    if (event.key !== "Escape" && (event.target as Element).closest?.(ignored)) return;
    press(event, { ...this.texts?.keys(), " ": () => this.race?.toggle() }, true);
  }

  private onPinned() {
    const at = this.view.model.get("pinned");
    if (at >= 0) this.texts?.move(at, undefined, true);
  }

  /** Write the pinned position to the model. */
  private pin(at: number) {
    const { model } = this.view;
    if (model.get("pinned") === at) return;
    model.set("pinned", at);
    model.save_changes();
  }

  /** Show the runs of the model, or why they cannot be compared. */
  private open() {
    const { model, palette } = this.view;
    this.race?.close();
    this.race = null;
    this.texts = null;
    const stores = storesOf(model.get("runs") ?? []);
    const why = refusalOf(stores);
    drawNotice(this.refusal, { message: why, caution: true });
    if (why) return render(nothing, this.body);
    const isStill = () => this.motion.matches;
    const runs = stores.map((store) => runnerOf(store, model.get("suites")));
    const texts = new Texts(runs, palette, (at) => this.pin(at));
    const race = new Race(runs, palette, (ns) => texts.showAt(ns), isStill);
    this.texts = texts;
    this.race = race;
    this.draw(stores, runs, race, texts);
    if (model.get("time") < 0) race.playOnce();
    else if (!isStill()) race.set(model.get("time") * 1e6);
    this.onPinned();
  }

  private draw(stores: Store[], runs: Runner[], race: Race, texts: Texts) {
    const { model } = this.view;
    const agreement = model.get("textless")
      ? nothing
      : agreementText(agreementOf(stores, model.get("sources")));
    const more = model.get("brief")
      ? nothing
      : html`${metricsTable(runs, this.view.palette)}${texts.root}`;
    const doubts = doubtsOf(stores).map((words) => html`<p class="hsd-warning">${words}</p>`);
    const content = html`${doubts}
      ${race.root}${agreement}${more}${aboutTemplate(stores)}`;
    render(keyed(race, content), this.body);
  }
}

export function versusView(view: View<Traits>) {
  const versus = new VersusView(view);
  return () => versus.close();
}

export default linkedWidget(versusView);
