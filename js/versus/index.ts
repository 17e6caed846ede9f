// Comparison of runs of one prompt: race, metrics and texts; all from the columns of the runs.
import { html, nothing, render } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { make, press } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { drawNotice } from "../lib/notice";
import type { Snapshot, Store } from "../lib/run";
import type { Sources } from "../lib/stack";
import { folded, tableOf as valuesOf } from "../lib/table";
import { term } from "../lib/tip";
import { unique } from "../lib/widget";
import { brief } from "../lib/words";
import {
  type Agreement,
  agreementOf,
  doubtsOf,
  factsOf,
  refusalOf,
  storesOf,
  tableOf,
} from "./compare";
import { Race, type Runner, runnerOf } from "./race";
import { Texts } from "./texts";

export interface Traits {
  /** The runs in order, and a description of each stack that has one. */
  runs: Snapshot[];
  titles: Record<string, string>;
  sources: Sources;
  pinned: number;
  /** The time of the race shown first, in milliseconds; -1: its end. */
  time: number;
  /** The race alone, without figures and texts. */
  brief?: boolean;
  /** Only counts are known: whether the texts agree is not said. */
  textless?: boolean;
}
const SIGNS = { same: "=", apart: "≠", broken: "!" };

const agreementWords = (agreement: Agreement[]) =>
  html`<ul class="hsd-vs-agreement">
    ${agreement.map(
      ({ state, words }) =>
        html`<li class="hsd-vs-${state}">
          <span class="hsd-vs-sign" aria-hidden="true">${SIGNS[state]}</span><span>${words}</span>
        </li>`,
    )}
  </ul>`;

/** The metrics of all runs, each with its definition and its difference to the first run. */
function metricsTable(runs: Runner[]) {
  const uid = unique();
  const cell = ({ value, difference }: { value: string; difference: string }) =>
    html`<span class="hsd-vs-value">${value}</span> <span class="hsd-note">${difference}</span>`;
  const heads = runs.map((r) => html`<b class="hsd-vs-letter">${r.letter}</b> ${r.title}`);
  const all = tableOf(runs.map((r) => r.store));
  const whole = all.filter(({ part }) => !part);
  const rows = all.map(({ name, definition, cells }, k) => [
    term(name, definition, `${uid}-${k}`),
    ...cells.map(cell),
  ]);
  const head = ["difference to A", ...heads];
  const times = valuesOf("Times of calls", head, rows.slice(whole.length));
  return html`<section class="hsd-vs-figures" .style=${`--runs: ${runs.length}`}>
    <h3>Figures</h3>
    ${valuesOf("Figures", head, rows.slice(0, whole.length))}
    ${folded("Where the time goes", times)}
  </section>`;
}

export function versusView({ model, root, palette, on }: View<Traits>) {
  root.classList.add("hsd-versus");
  const refusal = make("div", "hsd-vs-refusal");
  const body = make("div", "hsd-vs-body");
  root.append(refusal, body);
  const motion = matchMedia("(prefers-reduced-motion: reduce)");
  let race: Race | null = null;
  let texts: Texts | null = null;
  function pin(at: number) {
    if (model.get("pinned") === at) return;
    model.set("pinned", at);
    model.save_changes();
  }
  function open() {
    race?.close();
    race = null;
    texts = null;
    const stores = storesOf(model.get("runs") ?? []);
    const why = refusalOf(stores);
    drawNotice(refusal, { message: why, caution: true });
    if (why) return render(nothing, body);
    const titles = model.get("titles");
    const titleOf = ({ meta }: Store) => titles[meta.asked ?? ""] || titles[meta.stack] || "";
    const runs = stores.map((store) => runnerOf(store, titleOf(store)));
    const shown = new Texts(runs, palette, pin);
    texts = shown;
    race = new Race(
      runs,
      palette,
      (ns) => shown.showAt(ns),
      () => motion.matches,
    );
    if (model.get("time") >= 0 && !motion.matches) race.set(model.get("time") * 1e6);
    render(
      keyed(
        race,
        html`<p class="hsd-vs-about hsd-note">
            <code class="hsd-vs-prompt" title="prompt of all runs">${brief(stores[0].prompt)}</code>
            <span>${factsOf(stores[0]).join(" · ")}</span>
          </p>
          ${doubtsOf(stores).map((words) => html`<p class="hsd-warning">${words}</p>`)}
          ${race.root}${
            model.get("textless")
              ? nothing
              : agreementWords(agreementOf(stores, model.get("sources")))
          }${model.get("brief") ? nothing : [metricsTable(runs), shown.root]}`,
      ),
      body,
    );
    pinned();
  }
  const pinned = () => {
    if (model.get("pinned") >= 0) texts?.move(model.get("pinned"), undefined, true);
  };
  const keydown = (e: KeyboardEvent) => {
    const own = e.key === "Enter" || e.key === " " ? "button, input, select" : "input, select";
    if (e.key !== "Escape" && (e.target as Element).closest?.(own)) return;
    press(e, { ...texts?.keys(), " ": () => race?.toggle() }, true);
  };
  const again = () => race?.paint();
  // Its runs are not that of a group, which has the same keys.
  root.addEventListener("keydown", keydown, true);
  motion.addEventListener("change", again);
  on("change:runs", open);
  on("change:pinned", pinned);
  open();
  return () => {
    race?.close();
    motion.removeEventListener("change", again);
  };
}

export default linkedWidget(versusView);
