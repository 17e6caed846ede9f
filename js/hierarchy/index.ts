// The hierarchy as a graph. Click or Enter removes or restores a model or database; Python returns the selected
// stack.

import { draw, followTheme, make } from "../lib/dom";
import { drawNotice, guarded } from "../lib/notice";
import type { Drawing, Model } from "../lib/widget";

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

function createView(model: Model<Traits>, el: HTMLElement) {
  const root = make("section", "hsd-latency hsd-hierarchy");
  root.setAttribute("aria-label", "Hierarchy");
  const unfollow = followTheme(root, { behind: "--paper" });
  const body = make("div", "hsd-plot-body");
  const left = make("div", "hsd-plot-left");
  const frame = make("div", "hsd-graph");
  const details = make("p", "hsd-plot-readout");
  const key = make("p", "hsd-note hsd-graph-key");
  left.append(frame, details, key);
  const aside = make("div", "hsd-plot-aside hsd-answer");
  const said = make("div", "hsd-answer-said");
  const warning = make("p", "hsd-answer-warning"),
    source = make("p", "hsd-source");
  said.setAttribute("aria-live", "polite");
  aside.append(said, warning, source);
  body.append(left, aside);
  root.append(body);
  el.append(root);

  let at: Map<string, Disc> = new Map();
  let shownAt = 0;
  let room = SPACING;
  let looked = "";
  const isOut = (name: string) => model.get("out").includes(name);
  const target = () => model.get("graph").models.at(-1)?.name ?? "";

  function toggle(name: string) {
    if (name === target()) return;
    const out = model.get("out");
    model.set("out", isOut(name) ? out.filter((n) => n !== name) : [...out, name]);
    model.save_changes();
  }

  /** The edges of the selected stack, as "from>to". */
  function lit() {
    const path = model.get("picked").path || [];
    const steps = new Map<string, number | null>();
    for (let k = 0; k + 1 < path.length; k++) steps.set(`${path[k].name}\n${path[k + 1].name}`, path[k].lookahead);
    return { steps, nodes: new Set(path.map((p) => p.name)) };
  }

  function paint() {
    const g = model.get("graph");
    if (!g.models) return;
    const focused = frame.contains(document.activeElement) ? document.activeElement?.getAttribute("data-name") : null;
    const n = g.models.length;
    shownAt = frame.clientWidth;
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
    g.bottoms.forEach((b, k) =>
      at.set(b.name, {
        x: (width * (k + 1)) / (g.bottoms.length + 1),
        y: bottomY,
        top: bottomY - 22,
        base: bottomY + 22,
        r: 28,
      }),
    );

    const svg = draw("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": "Models and databases",
    });
    const defs = draw("defs");
    const arrow = draw("marker", {
      id: `${uid}-arrow`,
      viewBox: "0 0 10 10",
      refX: 9,
      refY: 5,
      markerWidth: 11,
      markerHeight: 11,
      markerUnits: "userSpaceOnUse",
      orient: "auto-start-reverse",
    });
    arrow.append(draw("path", { d: "M0 0L10 5L0 10z", class: "hsd-arrow" }));
    defs.append(arrow);
    svg.append(defs);
    const path = lit();
    const labels = draw("g", { "aria-hidden": "true" });
    // Highlighted edges are drawn last.
    const order = [...g.edges].sort(
      (a, b) => Number(path.steps.has(`${a.from}\n${a.to}`)) - Number(path.steps.has(`${b.from}\n${b.to}`)),
    );
    for (const e of order) paintEdge(svg, labels, e, path.steps, y, order.length);
    svg.append(labels);
    for (const m of g.models) svg.append(modelNode(m, path.nodes.has(m.name)));
    for (const b of g.bottoms) svg.append(bottomNode(b, path.nodes.has(b.name)));
    svg.classList.toggle("hsd-many", g.edges.length > FEW);
    frame.replaceChildren(svg);
    if (focused)
      for (const node of svg.querySelectorAll("[data-name]"))
        if (node.getAttribute("data-name") === focused) (node as SVGElement).focus();
    describe();
  }
  const place = (name: string) => model.get("graph").models.findIndex((m) => m.name === name);

  function paintEdge(
    svg: SVGElement,
    labels: SVGElement,
    e: Edge,
    steps: Map<string, number | null>,
    y: number,
    count: number,
  ) {
    const [a, b] = [at.get(e.from), at.get(e.to)];
    if (!a || !b) return;
    const on = steps.has(`${e.from}\n${e.to}`);
    const off = isOut(e.from) || isOut(e.to);
    const near = looked === e.from || looked === e.to;
    let d: string;
    let mid: number[];
    if (e.per !== null) {
      // From a database to the label of its model.
      d = `M${a.x} ${a.top - 2}C${a.x} ${a.top - 62} ${b.x} ${b.base + 62} ${b.x} ${b.base + 4}`;
      mid = [a.x + 0.62 * (b.x - a.x), a.top + 0.58 * (b.base - a.top)];
    } else if (place(e.to) - place(e.from) === 1) {
      d = `M${a.x + a.r + 2} ${y}L${b.x - b.r - 3} ${y}`;
      mid = [(a.x + a.r + b.x - b.r) / 2, y - 12];
    } else {
      const lift = 34 * (place(e.to) - place(e.from)) + 24;
      d = `M${a.x} ${a.top - 2}C${a.x} ${y - lift - RADIUS} ${b.x} ${y - lift - RADIUS} ${b.x} ${b.top - 3}`;
      mid = [(a.x + b.x) / 2, 0.125 * (a.top + b.top) + 0.75 * (y - lift - RADIUS) - 8];
    }
    const line = draw("path", {
      d,
      class: `hsd-edge${on ? " hsd-on-path" : ""}${off ? " hsd-off" : ""}`,
      "stroke-width": (1 + 8 * e.rate).toFixed(1),
    });
    if (on) {
      // The arrow has a separate thin line: a marker on the wide line would cover the model.
      svg.append(
        line,
        draw("path", { d, class: "hsd-edge hsd-on-path", "stroke-width": 1.5, "marker-end": `url(#${uid}-arrow)` }),
      );
    } else svg.append(line);
    if (off || (count > FEW && !on && !near)) return;
    const share = draw(
      "text",
      { x: mid[0], y: mid[1], "text-anchor": "middle", class: `hsd-halo${on ? " hsd-strong" : ""}` },
      percent(e.rate),
    );
    labels.append(share);
    const lookahead = steps.get(`${e.from}\n${e.to}`);
    if (on && lookahead)
      labels.append(
        draw(
          "text",
          {
            x: mid[0],
            y: mid[1] + (e.per === null && place(e.to) - place(e.from) === 1 ? 34 : 30),
            "text-anchor": "middle",
            class: "hsd-halo hsd-strong hsd-gamma",
          },
          `γ = ${lookahead}`,
        ),
      );
  }

  function button(name: string, words: string, on: boolean, fixed: boolean) {
    const out = isOut(name);
    const node = draw("g", {
      class: `hsd-node${out ? " hsd-gone" : ""}${on ? " hsd-on-path" : ""}${fixed ? " hsd-fixed" : ""}`,
      "data-name": name,
    });
    node.setAttribute("role", fixed ? "img" : "button");
    node.setAttribute("aria-label", `${words}${fixed ? ", target" : out ? ", removed" : ""}${on ? ", selected" : ""}`);
    node.setAttribute("tabindex", "0");
    if (!fixed) {
      node.setAttribute("aria-pressed", String(!out));
      node.addEventListener("click", () => toggle(name));
    }
    node.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "Enter" || e.key === " ") toggle(name);
      else if (e.key === "ArrowRight" || e.key === "ArrowLeft") step(name, e.key === "ArrowRight" ? 1 : -1);
      else return;
      e.preventDefault();
      e.stopPropagation();
    });
    const look = () => {
      if (looked !== name) {
        looked = name;
        describe();
        relabel();
      }
    };
    node.addEventListener("pointerenter", look);
    node.addEventListener("focus", look);
    node.addEventListener("pointerleave", () => {
      looked = "";
      describe();
      relabel();
    });
    return node;
  }
  const relabel = () => {
    if (model.get("graph").edges.length > FEW) paint();
  };
  function step(name: string, by: number) {
    const all = [...frame.querySelectorAll<SVGElement>("[data-name]")];
    const here = all.findIndex((node) => node.getAttribute("data-name") === name);
    all[Math.max(0, Math.min(all.length - 1, here + by))].focus();
  }

  function modelNode(m: ModelNode, on: boolean) {
    const p = at.get(m.name) as Disc;
    const node = button(m.name, `${m.name}, ${time(m.ms)} per token`, on, m.name === target());
    node.style.setProperty("--light", m.hue.light);
    node.style.setProperty("--dark", m.hue.dark);
    node.append(
      draw("rect", { x: p.x - 46, y: p.y - RADIUS - 4, width: 92, height: 2 * RADIUS + 46, rx: 8, class: "hsd-hit" }),
      draw("circle", { cx: p.x, cy: p.y, r: p.r, class: "hsd-disc" }),
      draw(
        "text",
        { x: p.x, y: p.y + RADIUS + 18, "text-anchor": "middle", class: "hsd-halo hsd-strong hsd-name" },
        cut(m.name, room),
      ),
      draw(
        "text",
        { x: p.x, y: p.y + RADIUS + 34, "text-anchor": "middle", class: "hsd-halo hsd-tick" },
        isOut(m.name) ? "removed" : time(m.ms),
      ),
    );
    return node;
  }

  function bottomNode(b: Bottom, on: boolean) {
    const p = at.get(b.name) as Disc;
    const node = button(b.name, `${b.name}, database, ${time(b.ms)} per look-up`, on, false);
    const [w, h] = [56, 44];
    const [x, y] = [p.x - w / 2, p.y - h / 2];
    node.append(draw("rect", { x: p.x - 46, y: y - 4, width: 92, height: h + 44, rx: 8, class: "hsd-hit" }));
    const body = `M${x} ${y + 7}C${x} ${y - 2} ${x + w} ${y - 2} ${x + w} ${y + 7}V${y + h - 7}C${x + w} ${y + h + 2} ${x} ${y + h + 2} ${x} ${y + h - 7}Z`;
    const clip = `${uid}-clip-${model.get("graph").bottoms.indexOf(b)}`;
    const shape = draw("clipPath", { id: clip });
    shape.append(draw("path", { d: body }));
    node.append(shape);
    const each = h / b.stripes.length;
    b.stripes.forEach((hue, k) => {
      const stripe = draw("rect", {
        x,
        y: y + k * each,
        width: w,
        height: each,
        "clip-path": `url(#${clip})`,
        class: "hsd-stripe",
      });
      stripe.style.setProperty("--light", hue.light);
      stripe.style.setProperty("--dark", hue.dark);
      node.append(stripe);
    });
    node.append(
      draw("path", { d: body, class: "hsd-drum" }),
      draw("path", { d: `M${x} ${y + 7}C${x} ${y + 16} ${x + w} ${y + 16} ${x + w} ${y + 7}`, class: "hsd-drum" }),
      draw(
        "text",
        { x: p.x, y: p.y + 41, "text-anchor": "middle", class: "hsd-halo hsd-strong hsd-name" },
        cut(b.name, SPACING),
      ),
      draw(
        "text",
        { x: p.x, y: p.y + 57, "text-anchor": "middle", class: "hsd-halo hsd-tick" },
        isOut(b.name) ? "removed" : time(b.ms),
      ),
    );
    return node;
  }

  function describe() {
    const g = model.get("graph");
    const m = g.models.find((o) => o.name === looked);
    const b = g.bottoms.find((o) => o.name === looked);
    details.classList.toggle("hsd-note", !m && !b);
    if (!m && !b) {
      details.textContent = "Click a draft model or a database to remove or restore it. The best stack is recomputed.";
      return;
    }
    const ups = g.edges
      .filter((e) => e.from === looked)
      .map(
        (e) => `${e.to} accepts ${percent(e.rate)}${e.per === null ? "" : ` (${e.per.toFixed(1)} tokens per look-up)`}`,
      );
    const cost = m
      ? `${time(m.ms)}, ${m.words}${looked === target() ? "" : `; ${(m.ms / (g.models.at(-1)?.ms ?? NaN)).toFixed(2)} of the target's`}`
      : `${time(b?.ms ?? NaN)} per look-up`;
    details.textContent = `${looked}: ${[cost, ...ups].join("; ")}.`;
  }

  function answer() {
    const p = model.get("picked");
    said.replaceChildren();
    const waiting = JSON.stringify(p.out) !== JSON.stringify([...model.get("out")].sort());
    aside.classList.toggle("hsd-waiting", waiting);
    if (p.error) {
      const card = make("div");
      drawNotice(card, { title: "The selection failed", message: p.error });
      said.append(card);
      return;
    }
    const head = make("p", "hsd-answer-head");
    head.append(make("span", "hsd-note", "Best stack"), make("code", "hsd-answer-stack", p.stack));
    const facts = make("div", "hsd-answer-facts");
    const fact = (label: string, value: string, note: string) => {
      const box = make("div", "hsd-answer-fact");
      box.append(make("span", "hsd-fact-label", label), make("strong", "", value), make("span", "hsd-fact-note", note));
      facts.append(box);
    };
    fact("Predicted", `${p.ms.toPrecision(3)} ms`, `per token; ${p.length.toFixed(2)} tokens per target forward pass`);
    fact("Over plain decoding", signed(p.over_plain), "tokens/s");
    const missed = p.missed || [];
    const singles = missed.some((pair) => pair.endsWith(` > ${target()}`))
      ? "the best measured single draft"
      : "the best single draft";
    fact(
      `Over ${singles}`,
      p.is_single || p.over_single === null ? "–" : signed(p.over_single),
      p.is_single ? `this stack is ${singles}` : p.single || "no draft model",
    );
    said.append(head, make("p", "", p.words), facts);
    if (missed.length) said.append(make("p", "hsd-note", `Not measured, so excluded: ${missed.join(", ")}.`));
    if (model.get("out").length) {
      const reset = make("button", "hsd-button", "Restore all");
      reset.addEventListener("click", () => {
        model.set("out", []);
        model.save_changes();
      });
      said.append(reset);
    }
  }

  function redraw() {
    const g = model.get("graph");
    source.textContent = g.source || "";
    warning.textContent = g.warning || "";
    warning.hidden = !g.warning;
    const path = model.get("picked").path || [];
    const steps = path.some((p) => p.lookahead) ? " γ: lookahead, the tokens that a level proposes." : "";
    key.textContent = `Circle area: cost per token in a run. Line width: conditional acceptance, lower level to higher.${steps}${path.length > 1 ? " Arrows: the best stack." : ""}`;
    paint();
    answer();
  }
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const resized = new ResizeObserver(() => {
    if (frame.clientWidth && frame.clientWidth !== shownAt) paint();
  });
  resized.observe(frame);
  model.on("change:graph change:picked change:out", redraw);
  redraw();
  return () => {
    resized.disconnect();
    model.off("change:graph change:picked change:out", redraw);
    unfollow();
    root.remove();
  };
}

export default { render: guarded(({ model, el }: Drawing<Traits>) => createView(model, el)) };
