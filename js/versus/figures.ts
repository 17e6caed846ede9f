// Metrics and distributions of compared runs, with definitions.
import { make } from "../lib/dom";
import type { Palette } from "../lib/palette";
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
  bars: [value: number, n: number, words: string][];
}
interface Chart {
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

/** A definition bubble within `root`, and `term(name, definition)`, which shows it on hover or focus. */
function explainer(root: HTMLElement) {
  const bubble = make("div", "hsd-vs-bubble");
  bubble.id = `hsdvs${Math.random().toString(36).slice(2, 9)}`;
  bubble.setAttribute("role", "tooltip");
  bubble.hidden = true;
  const hide = () => {
    bubble.hidden = true;
  };
  function term(name: string, definition: string) {
    const node = make("button", "hsd-vs-term", name);
    node.setAttribute("aria-describedby", bubble.id);
    const explain = () => {
      bubble.textContent = definition;
      bubble.hidden = false;
      const at = node.getBoundingClientRect();
      const frame = root.getBoundingClientRect();
      const zoom = zoomOf(root);
      const left = Math.min((at.left - frame.left) / zoom, root.offsetWidth - bubble.offsetWidth);
      bubble.style.left = `${Math.max(0, left)}px`;
      bubble.style.top = `${(at.bottom - frame.top) / zoom + 4}px`;
    };
    for (const event of ["pointerenter", "focus", "click"]) node.addEventListener(event, explain);
    node.addEventListener("pointerleave", () => {
      if (document.activeElement !== node) hide();
    });
    node.addEventListener("blur", hide);
    node.addEventListener("keydown", (e) => {
      if (e.key === "Escape" && !bubble.hidden) {
        hide();
        e.stopPropagation();
      }
    });
    return node;
  }
  return { bubble, term };
}

/** The metrics, each with its difference to the first run and its definition. */
export function tableOf(rows: FigureRow[], runs: Run[], words = "Figures") {
  const root = make("section", "hsd-vs-figures");
  root.setAttribute("aria-label", words);
  root.append(make("h3", "", words));
  const table = make("table");
  table.style.setProperty("--runs", String(runs.length));
  const head = make("tr");
  head.append(make("th", "hsd-vs-corner", `difference to ${runs[0].letter}`));
  for (const run of runs) {
    const cell = make("th");
    cell.scope = "col";
    cell.append(nameOf(run));
    head.append(cell);
  }
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  const { bubble, term } = explainer(root);
  for (const row of rows) {
    const line = make("tr", row.part ? "hsd-vs-part" : "");
    const name = make("th");
    name.scope = "row";
    name.append(term(row.name, row.definition));
    line.append(name);
    row.cells.forEach((c, i) => {
      const cell = make("td");
      cell.append(make("span", "hsd-vs-value", c.value), make("span", "hsd-vs-diff", c.difference));
      cell.dataset.letter = runs[i].letter;
      line.append(cell);
    });
    body.append(line);
  }
  table.append(top, body);
  root.append(table, bubble);
  return root;
}

/** Means of the runs' texts, and a bar chart per distribution with one scale for all runs. */
export function drawsOf(found: Draws, runs: Run[], palette: Palette) {
  const root = make("section", "hsd-vs-draws");
  root.setAttribute("aria-label", "Distributions");
  root.append(make("h3", "", "Distributions"), make("p", "", found.words));
  if (found.rows.length) {
    const means = tableOf(found.rows, runs, "Target probabilities of each text");
    root.append(means);
  }
  const { bubble, term } = explainer(root);
  for (const chart of found.charts) {
    const row = make("div", "hsd-vs-dist");
    const head = make("div", "hsd-vs-dist-name");
    head.append(term(chart.name, chart.definition), make("p", "hsd-vs-hint", chart.scale));
    const all = make("div", "hsd-vs-dist-runs");
    all.style.setProperty("--runs", String(chart.runs.length));
    all.append(...chart.runs.map((run) => barsOfRun(chart, run, palette)));
    row.append(head, all);
    root.append(row);
  }
  root.append(bubble);
  return root;
}

function barsOfRun(chart: Chart, run: ChartRun, palette: Palette) {
  const box = make("figure", "hsd-vs-dist-run");
  const head = make("figcaption", "");
  head.append(make("b", "hsd-vs-letter", run.letter), make("span", "hsd-vs-hint", run.n ? `n = ${run.n}` : "no draft"));
  const bars = make("div", `hsd-vs-bars${chart.sources ? " hsd-vs-bars-named" : ""}`);
  const name = (k: number) => (chart.sources ? palette.words(chart.classes[k]) : chart.classes[k]);
  bars.setAttribute("role", "img");
  bars.setAttribute(
    "aria-label",
    `${chart.name}, run ${run.letter}: ${run.bars.map((b, k) => `${name(k)}: ${b[2]}`).join("; ")}`,
  );
  run.bars.forEach(([value, n, words], k) => {
    const bar = make("span", "hsd-vs-bar");
    bar.title = `${name(k)}: ${words}`;
    const fill = make("span", "hsd-vs-bar-fill");
    if (value) fill.style.height = `${Math.max(2, (100 * value) / chart.most)}%`;
    if (chart.sources) fill.dataset.family = palette.family(chart.classes[k]);
    fill.classList.toggle("hsd-vs-few", n < chart.few);
    const track = make("span", "hsd-vs-bar-track");
    track.append(fill);
    bar.append(track, make("span", "hsd-vs-bar-name", chart.labels[k]));
    bars.append(bar);
  });
  box.append(head, bars);
  return box;
}
