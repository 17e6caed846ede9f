// A table of possible hierarchies: which level drafts for which, at which cost and with which
// acceptance. The cells of the selected stack are marked. Beside the table are the predictions of
// the latency law for that stack and, for a run of these models, the measurements of the run.
import { html, nothing } from "lit-html";
import { hsdGroup } from "../lib/group";
import { tableOf } from "../lib/table";
import { templated } from "../lib/widget";
import { duration } from "../lib/words";
import { calibrationRow, reasonOf, runRow } from "./measured";
import type { Colours, Graph, Picked } from "./spec";

interface Traits {
  graph: Graph;
  picked: Picked;
  /** Group of the run that is compared with the prediction. */
  group?: string;
  of_run?: boolean;
}

const percent = (v: number) => `${(100 * v).toFixed(0)} %`;
/** Format a gain as a speed-up. */
const times = (gain: number) => `${(1 + gain).toFixed(2)} ×`;
const baseName = (name: string) => name.split("/").pop();

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

function answer(p: Picked) {
  const single =
    p.single === p.stack ? "this stack is the best single draft" : p.single || "no draft model";
  const facts = [
    ["Time per token", `${p.ms.toPrecision(3)} ms`, `; ${p.length.toFixed(2)} tokens per pass`],
    ["Over plain decoding", times(p.over_plain), ""],
    [
      "Over the best single draft",
      p.over_single === null ? "–" : times(p.over_single),
      `; ${single}`,
    ],
  ];
  return html`<p><strong>${p.words}</strong> <code class="hsd-note">${p.stack}</code></p>
    <div class="hsd-answer-facts">
      ${facts.map(
        ([label, value, note]) =>
          html`<div>
            <span class="hsd-note">${label}</span><strong>${value}</strong
            ><span class="hsd-source">predicted${note}</span>
          </div>`,
      )}
    </div>`;
}

/** Speed-ups of this run, of the calibration and of other prompts, as a table. */
function beside(graph: Graph, picked: Picked, group: string | undefined) {
  const store = group ? hsdGroup(group).store : null;
  const run = store && runRow(store, picked);
  if (!run) return nothing;
  const calibration = calibrationRow(graph, picked);
  const rows = [run, calibration].map(({ of, times }): string[] => [of, times]);
  if (typeof picked.measured_over_plain === "number") {
    const prompts = `${picked.measured_on || "Other prompts"}, measured`;
    rows.push([prompts, times(picked.measured_over_plain)]);
  }
  const reason = reasonOf(store, run, calibration);
  return html`<div>
    ${tableOf("This run and the calibration", ["speed-up", "over plain decoding"], rows)}
    ${reason ? html`<p class="hsd-note">${reason}</p>` : nothing}
  </div>`;
}

export default templated<Traits>(
  { class: "hsd-latency hsd-hierarchy", label: "Hierarchy" },
  (get) => {
    const graph = get("graph");
    const picked = get("picked");
    const hasLookahead = picked.path?.some(({ lookahead }) => lookahead);
    return html`<h3>Best stack of these models <span class="hsd-chip">predicted</span></h3>
      <div class="hsd-answer">${answer(picked)}</div>
      <div class="hsd-hi-body">
        <div>
          ${graph.levels ? graphTable(graph, picked.path ?? []) : nothing}
          <p class="hsd-note">
            Accepted of examined draft tokens, on the calibration’s prompts. Marked: the best
            stack${hasLookahead ? "; γ is the lookahead, the tokens that a level proposes" : ""}.
          </p>
        </div>
        ${get("of_run") ? beside(graph, picked, get("group")) : nothing}
      </div>
      <p class="hsd-source">${graph.source ?? ""}</p>`;
  },
);
