// The hierarchy as a graph. Click or Enter removes or restores a model or database; Python returns the selected
// stack.
import { html, nothing, svg } from "lit-html";
import { when } from "lit-html/directives/when.js";
import { make } from "../lib/dom";
import { drawNotice } from "../lib/notice";
import { templated } from "../lib/template";
import { unique } from "../lib/widget";

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
  warning?: string;
}
interface Picked {
  path?: { name: string; lookahead: number | null }[];
  out: string[];
  error?: string;
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
  out: string[];
}
interface Disc {
  x: number;
  y: number;
  top: number;
  base: number;
  r: number;
}

const RADIUS = 36;
const SPACING = 104;
/** With more edges, only those of the selected stack and of the hovered node have labels. */
const FEW = 8;

const percent = (v: number) => `${(100 * v).toFixed(0)} %`;
const signed = (v: number) =>
  Math.abs(v) < 0.0005
    ? "0 %"
    : `${v >= -0.0005 ? "+" : "−"}${Math.abs(100 * v).toFixed(Math.abs(v) < 0.0995 ? 1 : 0)} %`;
const time = (ms: number) =>
  ms < 0.1 ? `${(1000 * ms).toFixed(0)} µs` : ms < 10 ? `${ms.toFixed(2)} ms` : `${ms.toFixed(1)} ms`;
/** Shorten a name: the last part of a hub id or path, with the middle elided. */
function cut(name: string, room: number) {
  const own = name.split("/").pop() || name;
  const most = Math.max(5, Math.floor(room / 8));
  return own.length <= most ? own : `${own.slice(0, Math.ceil(most / 2) - 1)}…${own.slice(-Math.floor(most / 2))}`;
}

const text = (x: number, y: number, cls: string, words: string) =>
  svg`<text x=${x} y=${y} text-anchor="middle" class="hsd-halo ${cls}">${words}</text>`;
const hueOf = ({ light, dark }: Hue) => `--light: ${light}; --dark: ${dark}`;
const EVENTS = "change:graph change:picked change:out";

export default templated<Traits>(
  { tag: "section", class: "hsd-latency hsd-hierarchy", events: EVENTS, behind: "--paper" },
  ({ model, root, paint, ends }) => {
    root.setAttribute("aria-label", "Hierarchy");
    const uid = unique();
    let at: Map<string, Disc> = new Map();
    let shownAt = 0;
    let room = SPACING;
    let looked = "";
    const graph = () => model.get("graph");
    const isOut = (name: string) => model.get("out").includes(name);
    const target = () => graph().models.at(-1)?.name ?? "";
    const place = (name: string) => graph().models.findIndex((m) => m.name === name);
    const widthOf = () => root.querySelector(".hsd-graph")?.clientWidth ?? 0;
    const resized = new ResizeObserver(() => widthOf() && widthOf() !== shownAt && paint());
    resized.observe(root);
    ends.push(() => resized.disconnect());

    function remove(out: string[]) {
      model.set("out", out);
      model.save_changes();
    }
    function toggle(name: string) {
      const out = model.get("out");
      if (name !== target()) remove(isOut(name) ? out.filter((n) => n !== name) : [...out, name]);
    }

    /** The edges of the selected stack, as "from>to". */
    function lit() {
      const path = model.get("picked").path || [];
      const steps = new Map<string, number | null>();
      for (let k = 0; k + 1 < path.length; k++) steps.set(`${path[k].name}\n${path[k + 1].name}`, path[k].lookahead);
      return { steps, nodes: new Set(path.map((p) => p.name)) };
    }

    function drawing() {
      const g = graph();
      if (!g.models) return nothing;
      const n = g.models.length;
      shownAt = widthOf();
      const width = Math.max(shownAt, SPACING * Math.max(n, g.bottoms.length), 280);
      const spans = g.edges.filter((e) => e.per === null).map((e) => place(e.to) - place(e.from));
      const arcs = Math.max(0, ...spans) > 1 ? 30 + 30 * Math.max(...spans) : 0;
      const y = arcs + RADIUS + 8;
      const base = y + RADIUS + 42;
      const bottomY = base + 106;
      const height = g.bottoms.length ? bottomY + 66 : base + 4;
      const margin = Math.min(width / (2 * n), 90);
      const step = n > 1 ? (width - 2 * margin) / (n - 1) : 0;
      room = (n > 1 ? Math.min(step, 2 * margin) : width) - 6;
      const most = Math.max(...g.models.map((m) => m.ms));
      at = new Map();
      g.models.forEach((m, k) => {
        const r = Math.max(8, RADIUS * Math.sqrt(m.ms / most));
        at.set(m.name, { x: n > 1 ? margin + k * step : width / 2, y, top: y - r, base, r });
      });
      g.bottoms.forEach((b, k) => {
        const x = (width * (k + 1)) / (g.bottoms.length + 1);
        at.set(b.name, { x, y: bottomY, top: bottomY - 22, base: bottomY + 22, r: 28 });
      });
      const { steps, nodes } = lit();
      // Highlighted edges are drawn last.
      const on = (e: Edge) => Number(steps.has(`${e.from}\n${e.to}`));
      const edges = [...g.edges].sort((a, b) => on(a) - on(b)).map((e) => edge(e, steps, y));
      return html`<svg
        class=${g.edges.length > FEW ? "hsd-many" : ""} viewBox="0 0 ${width} ${height}" width=${width} height=${height}
        role="group" aria-label="Models and databases"
      >
        <defs><marker
          id="${uid}-arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="11" markerHeight="11"
          markerUnits="userSpaceOnUse" orient="auto-start-reverse"
        ><path d="M0 0L10 5L0 10z" class="hsd-arrow"></path></marker></defs>
        ${edges.map(({ line }) => line)}
        <g aria-hidden="true">${edges.map(({ label }) => label)}</g>
        ${g.models.map((m) => modelNode(m, nodes.has(m.name)))}${g.bottoms.map((b) => bottomNode(b, nodes.has(b.name)))}
      </svg>`;
    }

    function edge(e: Edge, steps: Map<string, number | null>, y: number) {
      const [a, b] = [at.get(e.from), at.get(e.to)];
      if (!a || !b) return { line: nothing, label: nothing };
      const on = steps.has(`${e.from}\n${e.to}`);
      const off = isOut(e.from) || isOut(e.to);
      const near = looked === e.from || looked === e.to;
      const adjacent = e.per === null && place(e.to) - place(e.from) === 1;
      let d: string;
      let mid: number[];
      if (e.per !== null) {
        // From a database to the label of its model.
        d = `M${a.x} ${a.top - 2}C${a.x} ${a.top - 62} ${b.x} ${b.base + 62} ${b.x} ${b.base + 4}`;
        mid = [a.x + 0.62 * (b.x - a.x), a.top + 0.58 * (b.base - a.top) - 9];
      } else if (adjacent) {
        d = `M${a.x + a.r + 2} ${y}L${b.x - b.r - 3} ${y}`;
        mid = [(a.x + a.r + b.x - b.r) / 2, y - 12];
      } else {
        const lift = 34 * (place(e.to) - place(e.from)) + 24;
        d = `M${a.x} ${a.top - 2}C${a.x} ${y - lift - RADIUS} ${b.x} ${y - lift - RADIUS} ${b.x} ${b.top - 3}`;
        mid = [(a.x + b.x) / 2, 0.125 * (a.top + b.top) + 0.75 * (y - lift - RADIUS) - 8];
      }
      const cls = `hsd-edge${on ? " hsd-on-path" : ""}${off ? " hsd-off" : ""}`;
      // The arrow has a separate thin line: a marker on the wide line would cover the model.
      const arrow = () =>
        svg`<path d=${d} class="hsd-edge hsd-on-path" stroke-width="1.5" marker-end="url(#${uid}-arrow)"></path>`;
      const line = svg`<path d=${d} class=${cls} stroke-width=${(1 + 8 * e.rate).toFixed(1)}></path>${when(on, arrow)}`;
      if (off || (graph().edges.length > FEW && !on && !near)) return { line, label: nothing };
      const lookahead = on && steps.get(`${e.from}\n${e.to}`);
      const gamma = () => text(mid[0], mid[1] + (adjacent ? 34 : 30), "hsd-strong hsd-gamma", `γ = ${lookahead}`);
      const label = [text(mid[0], mid[1], on ? "hsd-strong" : "", percent(e.rate)), when(lookahead, gamma)];
      return { line, label };
    }

    function node(name: string, words: string, on: boolean, fixed: boolean, content: unknown, hue?: Hue) {
      const out = isOut(name);
      const keydown = (e: KeyboardEvent) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        if (e.key === "Enter" || e.key === " ") toggle(name);
        else if (e.key === "ArrowRight" || e.key === "ArrowLeft") step(name, e.key === "ArrowRight" ? 1 : -1);
        else return;
        e.preventDefault();
        e.stopPropagation();
      };
      const look = (to: string) => () => {
        if (looked === to) return;
        looked = to;
        paint();
      };
      return svg`<g
        class="hsd-node ${out ? "hsd-gone" : ""} ${on ? "hsd-on-path" : ""} ${fixed ? "hsd-fixed" : ""}"
        data-name=${name} role=${fixed ? "img" : "button"} tabindex="0" aria-pressed=${fixed ? nothing : !out}
        aria-label="${words}${fixed ? ", target" : out ? ", removed" : ""}${on ? ", selected" : ""}"
        style=${hue ? hueOf(hue) : nothing} @click=${() => toggle(name)} @keydown=${keydown}
        @pointerenter=${look(name)} @focus=${look(name)} @pointerleave=${look("")}
      >${content}</g>`;
    }
    function step(name: string, by: number) {
      const all = [...root.querySelectorAll<SVGElement>("[data-name]")];
      const here = all.findIndex((node) => node.dataset.name === name);
      all[Math.max(0, Math.min(all.length - 1, here + by))].focus();
    }
    const hit = (x: number, y: number, height: number) =>
      svg`<rect x=${x - 46} y=${y} width="92" height=${height} rx="8" class="hsd-hit"></rect>`;

    function modelNode(m: ModelNode, on: boolean) {
      const { x, y, r } = at.get(m.name) as Disc;
      const content = svg`${hit(x, y - RADIUS - 4, 2 * RADIUS + 46)}
        <circle cx=${x} cy=${y} r=${r} class="hsd-disc"></circle>
        ${text(x, y + RADIUS + 18, "hsd-strong hsd-name", cut(m.name, room))}
        ${text(x, y + RADIUS + 34, "hsd-tick", isOut(m.name) ? "removed" : time(m.ms))}`;
      return node(m.name, `${m.name}, ${time(m.ms)} per token`, on, m.name === target(), content, m.hue);
    }

    function bottomNode(b: Bottom, on: boolean) {
      const p = at.get(b.name) as Disc;
      const [w, h] = [56, 44];
      const [x, y] = [p.x - w / 2, p.y - h / 2];
      const body = `M${x} ${y + 7}C${x} ${y - 2} ${x + w} ${y - 2} ${x + w} ${y + 7}V${y + h - 7}C${x + w} ${y + h + 2} ${x} ${y + h + 2} ${x} ${y + h - 7}Z`;
      const lid = `M${x} ${y + 7}C${x} ${y + 16} ${x + w} ${y + 16} ${x + w} ${y + 7}`;
      const clip = `${uid}-clip-${graph().bottoms.indexOf(b)}`;
      const each = h / b.stripes.length;
      const stripe = (hue: Hue, k: number) =>
        svg`<rect
          x=${x} y=${y + k * each} width=${w} height=${each} clip-path="url(#${clip})" class="hsd-stripe"
          style=${hueOf(hue)}
        ></rect>`;
      const content = svg`${hit(p.x, y - 4, h + 44)}
        <clipPath id=${clip}><path d=${body}></path></clipPath>
        ${b.stripes.map(stripe)}
        <path d=${body} class="hsd-drum"></path><path d=${lid} class="hsd-drum"></path>
        ${text(p.x, p.y + 41, "hsd-strong hsd-name", cut(b.name, SPACING))}
        ${text(p.x, p.y + 57, "hsd-tick", isOut(b.name) ? "removed" : time(b.ms))}`;
      return node(b.name, `${b.name}, database, ${time(b.ms)} per look-up`, on, false, content);
    }

    function details() {
      const g = graph();
      const m = g.models?.find((o) => o.name === looked);
      const b = g.bottoms?.find((o) => o.name === looked);
      if (!m && !b) {
        const hint = "Click a draft model or a database to remove or restore it. The best stack is recomputed.";
        return html`<p class="hsd-plot-readout hsd-note">${hint}</p>`;
      }
      const ups = g.edges
        .filter((e) => e.from === looked)
        .map(
          (e) =>
            `${e.to} accepts ${percent(e.rate)}${e.per === null ? "" : ` (${e.per.toFixed(1)} tokens per look-up)`}`,
        );
      const share = () => `; ${((m?.ms ?? NaN) / (g.models.at(-1)?.ms ?? NaN)).toFixed(2)} of the target's`;
      const cost = m
        ? `${time(m.ms)}, ${m.words}${looked === target() ? "" : share()}`
        : `${time(b?.ms ?? NaN)} per look-up`;
      return html`<p class="hsd-plot-readout">${looked}: ${[cost, ...ups].join("; ")}.</p>`;
    }

    const failed = make("div");
    let told = "";
    function answer() {
      const p = model.get("picked");
      if (p.error) {
        if (told !== p.error) drawNotice(failed, { title: "The selection failed", message: p.error });
        told = p.error;
        return failed;
      }
      const fact = (label: string, value: string, note: string) =>
        html`<div class="hsd-answer-fact"
          ><span class="hsd-fact-label">${label}</span><strong>${value}</strong><span class="hsd-fact-note">${note}</span></div>`;
      const missed = p.missed || [];
      const singles = missed.some((pair) => pair.endsWith(` > ${target()}`))
        ? "the best measured single draft"
        : "the best single draft";
      const passes = `per token; ${p.length.toFixed(2)} tokens per target forward pass`;
      return html`<p class="hsd-answer-head"
          ><span class="hsd-note">Best stack</span><code class="hsd-answer-stack">${p.stack}</code></p>
        <p>${p.words}</p>
        <div class="hsd-answer-facts">
          ${fact("Predicted", `${p.ms.toPrecision(3)} ms`, passes)}
          ${fact("Over plain decoding", signed(p.over_plain), "tokens/s")}
          ${fact(
            `Over ${singles}`,
            p.is_single || p.over_single === null ? "–" : signed(p.over_single),
            p.is_single ? `this stack is ${singles}` : p.single || "no draft model",
          )}
        </div>
        ${when(missed.length, () => html`<p class="hsd-note">Not measured, so excluded: ${missed.join(", ")}.</p>`)}
        ${when(
          model.get("out").length,
          () => html`<button class="hsd-button" @click=${() => remove([])}>Restore all</button>`,
        )}`;
    }

    return () => {
      const { source = "", warning = "" } = graph();
      const { path = [], out } = model.get("picked");
      const waiting = JSON.stringify(out) !== JSON.stringify([...model.get("out")].sort());
      const steps = path.some((p) => p.lookahead) ? " γ: lookahead, the tokens that a level proposes." : "";
      return html`<div class="hsd-plot-body">
        <div class="hsd-plot-left">
          <div class="hsd-graph">${drawing()}</div>
          ${details()}
          <p class="hsd-note hsd-graph-key">Circle area: cost per token in a run. Line width: conditional acceptance, lower level to higher.${steps}${
            path.length > 1 ? " Arrows: the best stack." : ""
          }</p>
        </div>
        <div class="hsd-plot-aside hsd-answer ${waiting ? "hsd-waiting" : ""}">
          <div class="hsd-answer-said" aria-live="polite">${answer()}</div>
          <p class="hsd-answer-warning" ?hidden=${!warning}>${warning}</p>
          <p class="hsd-source">${source}</p>
        </div>
      </div>`;
    };
  },
);
