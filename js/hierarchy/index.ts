// A table of possible hierarchies: which level drafts for which, at which cost and with which
// acceptance. The cells of the selected stack are marked. Beside the table are the predictions of
// the latency law for that stack and, for a run of these models, the measurements of the run.
import { html, nothing } from "lit-html";
import { drafterName } from "../lib/drafter_names";
import { hsdGroup } from "../lib/group";
import type { Store } from "../lib/run";
import { type Suite, suiteOf } from "../lib/suites";
import { tableOf } from "../lib/table";
import { templated } from "../lib/widget";
import { duration } from "../lib/words";
import { calibrationRow, otherRow, reasonOf, runRow, suiteRow } from "./measured";
import type { Colours, Graph, Picked } from "./spec";

interface Traits {
  graph: Graph;
  picked: Picked;
  /** Group of the run that is compared with the prediction. */
  group?: string;
  of_run?: boolean;
  /** Speed-ups on many prompts. */
  suites?: Suite[];
}

const percent = (v: number) => `${(100 * v).toFixed(0)} %`;
/** Format a gain as a speed-up. */
const times = (gain: number) => `${(1 + gain).toFixed(2)} ×`;
const baseName = (name: string) => drafterName(name) ?? name.split("/").pop();

function graphTable({ levels, edges }: Graph, path: NonNullable<Picked["path"]>) {
  const verifiers = levels.map((m) => m.name).filter((name) => edges.some((e) => e.to === name));
  const slowest = Math.max(...levels.map((row) => row.ms));
  const bar = (share: number, words: string, cls: string) =>
    html`<span class=${cls} .style=${`--rate: ${100 * share}%`}>${words}</span>`;
  const cell = (from: string, to: string) => {
    const edge = edges.find((e) => e.from === from && e.to === to);
    if (!edge) return from === to ? "" : "–";
    const position = path.findIndex((p) => p.name === from);
    const isOnPath = position >= 0 && path[position + 1]?.name === to;
    const gamma = path[position]?.lookahead;
    const note = isOnPath
      ? gamma
        ? `γ = ${gamma}`
        : "selected"
      : edge.per === null
        ? ""
        : `${edge.per.toFixed(1)} tokens`;
    return html`<span class=${isOnPath ? "hsd-hi-on" : ""}
      >${bar(edge.rate, percent(edge.rate), "hsd-hi-rate")}<small>${note}</small></span
    >`;
  };
  const key = ({ light, dark }: Colours) =>
    html`<i .style=${`--light: ${light}; --dark: ${dark}`}></i>`;
  return tableOf(
    "Models and databases",
    ["drafter", "time per token", ...verifiers.map((name) => `accepted by ${baseName(name)}`)],
    levels.map(({ name, ms, hues }) => [
      html`<span class="hsd-hi-key">${hues.map(key)}</span>${baseName(name)}`,
      bar(ms / slowest, duration(1e6 * ms), "hsd-hi-cost"),
      ...verifiers.map((to) => cell(name, to)),
    ]),
  );
}

/** The best stack and its prediction. Its speed-up is in the table of speed-ups. */
function answer(p: Picked) {
  const single = p.single && p.single !== p.stack ? p.single : "";
  const overSingle =
    p.over_single === null || !single
      ? nothing
      : html`, ${times(p.over_single)} the best single draft (<code>${single}</code>)`;
  return html`<p><strong>${p.words}</strong> <code class="hsd-note">${p.stack}</code></p>
    <p>
      Predicted: ${p.ms.toPrecision(3)} ms per token, ${p.length.toFixed(2)} tokens per
      pass${overSingle}.
    </p>`;
}

/** Speed-ups over plain decoding: of this run, on the prompts of a report, and by the law. */
function speedUps(graph: Graph, picked: Picked, store: Store | null, suites?: readonly Suite[]) {
  const run = store && runRow(store, picked);
  const calibration = calibrationRow(graph, picked);
  const suite = run && suiteOf(store, suites);
  const rows = [
    ...(run ? [run] : []),
    ...(suite ? [suiteRow(suite)] : []),
    calibration,
    ...otherRow(picked),
  ];
  const reason = run ? reasonOf(store, run, calibration) : "";
  return html`<div>
    ${tableOf(
      "Speed-ups over plain decoding",
      ["speed over plain decoding", "", "how"],
      rows.map(({ of, times, how }) => [of, times, how]),
    )}
    ${reason ? html`<p class="hsd-note">${reason}</p>` : nothing}
  </div>`;
}

export default templated<Traits>(
  { class: "hsd-latency hsd-hierarchy", label: "Hierarchy" },
  (get) => {
    const graph = get("graph");
    const picked = get("picked");
    const group = get("of_run") ? get("group") : "";
    const store = group ? hsdGroup(group).store : null;
    const hasLookahead = picked.path?.some(({ lookahead }) => lookahead);
    return html`<h3>
        Best stack of these models <span class="hsd-tl-range hsd-note">predicted</span>
      </h3>
      <div class="hsd-answer">${answer(picked)}</div>
      <div class="hsd-hi-body">
        <div>
          ${graph.levels ? graphTable(graph, picked.path ?? []) : nothing}
          <p class="hsd-note">
            Accepted of examined draft tokens, on the calibration’s prompts. Marked: the best
            stack${hasLookahead ? "; γ is the lookahead, the tokens that a level proposes" : ""}.
          </p>
        </div>
        ${speedUps(graph, picked, store, get("suites"))}
      </div>
      <p class="hsd-source">${graph.source ?? ""}</p>`;
  },
);
