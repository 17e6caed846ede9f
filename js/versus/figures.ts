// Metrics and distributions of compared runs, with definitions.
import { html, nothing } from "lit-html";
import type { Palette } from "../lib/palette";
import { unique } from "../lib/widget";
import { zoomOf } from "../lib/zoom";
import { nameOf } from "./lanes";
import type { Run } from "./race";

export interface FigureRow {
  name: string;
  definition: string;
  part?: boolean;
  cells: { value: string; difference: string }[];
}
interface ChartRun {
  letter: string;
  n: number;
  bars: [value: number | null, n: number, words: string][];
}
export interface Chart {
  name: string;
  definition: string;
  scale: string;
  sources: boolean;
  classes: string[];
  labels: string[];
  most: number;
  few: number;
  runs: ChartRun[];
}
export interface Draws {
  words: string;
  rows: FigureRow[];
  charts: Chart[];
}

/** A definition bubble, and `term(name, definition)`, which shows it on hover or focus within the same section. */
function explainer() {
  const id = unique();
  const bubble = html`<div class="hsd-vs-bubble" id=${id} role="tooltip" hidden></div>`;
  const found = (e: Event) =>
    (e.currentTarget as HTMLElement).closest("section")?.querySelector(`#${id}`) as HTMLElement;
  const hide = (e: Event) => {
    found(e).hidden = true;
  };
  const leave = (e: Event) => document.activeElement === e.currentTarget || hide(e);
  const close = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || found(e).hidden) return;
    hide(e);
    e.stopPropagation();
  };
  function term(name: string, definition: string) {
    const explain = (e: Event) => {
      const [node, tip] = [e.currentTarget as HTMLElement, found(e)];
      const root = tip.parentElement as HTMLElement;
      Object.assign(tip, { textContent: definition, hidden: false });
      const at = node.getBoundingClientRect();
      const frame = root.getBoundingClientRect();
      const zoom = zoomOf(root);
      const left = Math.min((at.left - frame.left) / zoom, root.offsetWidth - tip.offsetWidth);
      tip.style.left = `${Math.max(0, left)}px`;
      tip.style.top = `${(at.bottom - frame.top) / zoom + 4}px`;
    };
    return html`<button
      class="hsd-vs-term" aria-describedby=${id} @pointerenter=${explain} @focus=${explain} @click=${explain}
      @pointerleave=${leave} @blur=${hide} @keydown=${close}
    >${name}</button>`;
  }
  return { bubble, term };
}

/** The metrics, each with its difference to the first run and its definition; `note` follows the heading. */
export function tableOf(rows: FigureRow[], runs: Run[], words: string, note: unknown = nothing) {
  const { bubble, term } = explainer();
  const line = ({ name, definition, part, cells }: FigureRow) =>
    html`<tr class=${part ? "hsd-vs-part" : ""}>
      <th scope="row">${term(name, definition)}</th>
      ${cells.map(
        ({ value, difference }, i) =>
          html`<td data-letter=${runs[i].letter}
            ><span class="hsd-vs-value">${value}</span><span class="hsd-vs-diff">${difference}</span></td>`,
      )}
    </tr>`;
  return html`<section class="hsd-vs-figures" aria-label=${words}>
    <h3>${words}</h3>
    ${note}
    <table .style=${`--runs: ${runs.length}`}>
      <thead><tr>
        <th class="hsd-vs-corner">difference to ${runs[0].letter}</th>
        ${runs.map((run) => html`<th scope="col">${nameOf(run)}</th>`)}
      </tr></thead>
      <tbody>${rows.map(line)}</tbody>
    </table>
    ${bubble}
  </section>`;
}

/** Means of the runs' texts, and a bar chart per distribution with one scale for all runs. */
export function drawsOf(found: Draws, runs: Run[], palette: Palette) {
  const { bubble, term } = explainer();
  const row = (chart: Chart) =>
    html`<div class="hsd-vs-dist">
      <div class="hsd-vs-dist-name">${term(chart.name, chart.definition)}<p class="hsd-vs-hint">${chart.scale}</p></div>
      <div class="hsd-vs-dist-runs" .style=${`--runs: ${chart.runs.length}`}>
        ${chart.runs.map((run) => barsOfRun(chart, run, palette))}
      </div>
    </div>`;
  return html`<section class="hsd-vs-draws" aria-label="Distributions">
    <h3>Distributions</h3>
    <p>${found.words}</p>
    ${found.rows.length ? tableOf(found.rows, runs, "Target probabilities of each text") : nothing}
    ${found.charts.map(row)}
    ${bubble}
  </section>`;
}

function barsOfRun(chart: Chart, run: ChartRun, palette: Palette) {
  const name = (k: number) => (chart.sources ? palette.words(chart.classes[k]) : chart.classes[k]);
  const bar = ([value, n, words]: ChartRun["bars"][number], k: number) =>
    html`<span class="hsd-vs-bar" title="${name(k)}: ${words}">
      <span class="hsd-vs-bar-track"><span
        class="hsd-vs-bar-fill ${n < chart.few ? "hsd-vs-few" : ""}"
        data-family=${chart.sources ? palette.family(chart.classes[k]) : nothing}
        .style=${value ? `height: ${Math.max(2, (100 * value) / chart.most)}%` : ""}
      ></span></span>
      <span class="hsd-vs-bar-name">${chart.labels[k]}</span>
    </span>`;
  const words = run.bars.map((b, k) => `${name(k)}: ${b[2]}`).join("; ");
  return html`<figure class="hsd-vs-dist-run">
    <figcaption><b class="hsd-vs-letter">${run.letter}</b
      ><span class="hsd-vs-hint">${run.n ? `n = ${run.n}` : "no draft"}</span></figcaption>
    <div
      class="hsd-vs-bars ${chart.sources ? "hsd-vs-bars-named" : ""}" role="img"
      aria-label="${chart.name}, run ${run.letter}: ${words}"
    >${run.bars.map(bar)}</div>
  </figure>`;
}
