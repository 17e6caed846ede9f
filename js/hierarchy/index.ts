// The hierarchy as a table: who drafts for whom, at which cost and with which acceptance. The cells of the
// selected stack are marked.
import { html, nothing } from "lit-html";
import { templated } from "../lib/template";

interface Hue {
  light: string;
  dark: string;
}
interface ModelNode {
  name: string;
  ms: number;
  words: string;
  hue: Hue;
}
interface Bottom {
  name: string;
  ms: number;
  stripes: Hue[];
}
/** From a level to the one that verifies it; `per`: tokens per look-up of a database, null between models. */
interface Edge {
  from: string;
  to: string;
  rate: number;
  per: number | null;
}
interface Graph {
  models: ModelNode[];
  bottoms: Bottom[];
  edges: Edge[];
  source?: string;
}
interface Picked {
  path?: { name: string; lookahead: number | null }[];
  stack: string;
  words: string;
  ms: number;
  length: number;
  over_plain: number;
  over_single: number | null;
  is_single: boolean;
  single?: string;
  missed?: string[];
}
interface Traits {
  graph: Graph;
  picked: Picked;
}

const percent = (v: number) => `${(100 * v).toFixed(0)} %`;
const signed = (v: number) =>
  Math.abs(v) < 0.0005
    ? "0 %"
    : `${v >= -0.0005 ? "+" : "−"}${Math.abs(100 * v).toFixed(Math.abs(v) < 0.0995 ? 1 : 0)} %`;
const time = (ms: number) =>
  ms < 0.1 ? `${(1000 * ms).toFixed(0)} µs` : ms < 10 ? `${ms.toFixed(2)} ms` : `${ms.toFixed(1)} ms`;
const hueOf = ({ light, dark }: Hue) => `--light: ${light}; --dark: ${dark}`;

export default templated<Traits>(
  { tag: "section", class: "hsd-latency hsd-hierarchy", events: "change:graph change:picked", behind: "--paper" },
  ({ model, root }) => {
    root.setAttribute("aria-label", "Hierarchy");
    function table({ models, bottoms, edges }: Graph) {
      const { path = [] } = model.get("picked");
      const most = Math.max(...models.map((m) => m.ms));
      const next = new Map(path.map(({ name }, k) => [name, path[k + 1]?.name]));
      const verifiers = models.filter((m) => edges.some((e) => e.to === m.name));
      const cell = (from: string, to: string) => {
        const edge = edges.find((e) => e.from === from && e.to === to);
        if (!edge) return html`<td class="hsd-hi-none">–</td>`;
        const on = next.get(from) === to;
        const lookahead = path.find((p) => p.name === from)?.lookahead;
        const per = edge.per === null ? "" : `${edge.per.toFixed(1)} tokens per look-up`;
        return html`<td class=${on ? "hsd-hi-on" : ""} title=${per || nothing}
          ><span class="hsd-hi-rate" style="--rate: ${100 * edge.rate}%">${percent(edge.rate)}</span>${
            on
              ? html`<small>${lookahead ? `γ = ${lookahead}` : "selected"}</small>`
              : per
                ? html`<small>${edge.per?.toFixed(1)} tokens</small>`
                : nothing
          }</td>`;
      };
      const row = (name: string, ms: number, words: string, hues: Hue[], width: number) =>
        html`<tr data-name=${name}>
          <th scope="row"><span class="hsd-hi-key">${hues.map((hue) => html`<i style=${hueOf(hue)}></i>`)}</span>${name.split("/").pop()}</th>
          <td title=${words}><span class="hsd-hi-cost" style="--rate: ${width}%">${time(ms)}</span></td>
          ${verifiers.map((v) => (v.name === name ? html`<td class="hsd-hi-none"></td>` : cell(name, v.name)))}
        </tr>`;
      return html`<div class="hsd-hi-scroll" tabindex="0" role="region" aria-label="Models and databases"><table>
        <thead><tr><th scope="col">drafter</th><th scope="col">time per token</th>${verifiers.map(
          ({ name }) => html`<th scope="col">accepted by ${name.split("/").pop()}</th>`,
        )}</tr></thead>
        <tbody>${bottoms.map((b) => row(b.name, b.ms, "per look-up", b.stripes, (100 * b.ms) / most))}${models.map(
          (m) => row(m.name, m.ms, m.words, [m.hue], (100 * m.ms) / most),
        )}</tbody>
      </table></div>`;
    }

    function answer() {
      const p = model.get("picked");
      const fact = (label: string, value: string, note: string) =>
        html`<div class="hsd-answer-fact"
          ><span class="hsd-fact-label">${label}</span><strong>${value}</strong><span class="hsd-fact-note">${note}</span></div>`;
      const missed = p.missed || [];
      const target = model.get("graph").models?.at(-1)?.name;
      const singles = missed.some((pair) => pair.endsWith(` > ${target}`))
        ? "the best measured single draft"
        : "the best single draft";
      return html`<p class="hsd-answer-head"
          ><span class="hsd-note">Best stack</span><code class="hsd-answer-stack">${p.stack}</code></p>
        <p>${p.words}</p>
        <div class="hsd-answer-facts">
          ${fact("Predicted", `${p.ms.toPrecision(3)} ms`, `per token; ${p.length.toFixed(2)} tokens per target forward pass`)}
          ${fact("Over plain decoding", signed(p.over_plain), "tokens/s")}
          ${fact(
            `Over ${singles}`,
            p.is_single || p.over_single === null ? "–" : signed(p.over_single),
            p.is_single ? `this stack is ${singles}` : p.single || "no draft model",
          )}
        </div>
        ${missed.length ? html`<p class="hsd-note">Not measured, so excluded: ${missed.join(", ")}.</p>` : nothing}`;
    }

    return () => {
      const graph = model.get("graph");
      return html`<div class="hsd-hi-body">
        <div>
          ${graph.models ? table(graph) : nothing}
          <p class="hsd-note">Conditional acceptance of each drafter by each verifier. Marked: the best stack; γ is the lookahead, the tokens that a level proposes.</p>
        </div>
        <div class="hsd-answer">
          <div class="hsd-answer-said">${answer()}</div>
          <p class="hsd-source">${graph.source ?? ""}</p>
        </div>
      </div>`;
    };
  },
);
