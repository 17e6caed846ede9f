// Points, lines and equal-value curves on axes, in SVG.

import { draw, entry, focusable, make } from "../lib/dom";
import type { Box } from "../lib/figure";
import { axisNames, figureIn, pathOf, tickBelow, tickBeside } from "../lib/figure";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

type Room = number[];
interface Axis {
  label: string;
  range: number[];
  log?: boolean;
  ticks: [number, string][];
}
interface Point {
  kind?: string;
  x: number;
  y: number;
  label?: string;
  words: string;
}
type Spot = Point & { px: number; py: number };
interface Spec {
  title?: string;
  text?: string;
  hint?: string;
  source?: string;
  shape?: number;
  aligned?: boolean;
  x: Axis;
  y: Axis;
  points?: Point[];
  lines?: { kind?: string; points: number[][] }[];
  isos?: { label: string; points: number[][] }[];
  legend?: [string, string][];
  table?: string[][];
}
interface Traits {
  spec: Spec;
}
const STEPS: Record<string, number> = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

/** Each kind of point has its own shape, independent of colour. */
function shape(kind: string, x: number, y: number) {
  if (kind === "strong") return draw("circle", { cx: x, cy: y, r: 7, class: "hsd-d-mark hsd-strong" });
  if (kind === "second") {
    return draw("polygon", {
      points: `${x},${y - 8} ${x + 8},${y} ${x},${y + 8} ${x - 8},${y}`,
      class: "hsd-d-mark hsd-second",
    });
  }
  if (kind === "there")
    return draw("rect", { x: x - 6, y: y - 6, width: 12, height: 12, class: "hsd-d-mark hsd-there" });
  return draw("circle", { cx: x, cy: y, r: 5, class: "hsd-d-mark" });
}

function render({ model, el }: Drawing<Traits>) {
  const figure = figureIn(el, "hsd-d-body");
  const { root, title, frame, readout, aside, source } = figure;
  const table = make("details", "hsd-d-table");
  figure.left.append(table);

  let spots: Spot[] = [];
  let chosen = -1;
  const ring = draw("g");
  const spec = () => model.get("spec");

  function paint() {
    const s = spec();
    if (!s.x) return;
    const width = figure.width();
    const box = { left: 56, right: width - (s.aligned ? (width > 520 ? 136 : 112) : 14), top: 12, bottom: 0 };
    box.bottom = box.top + Math.round(Math.max(240, (box.right - box.left) * (s.shape || 0.6)));
    const height = box.bottom + 46;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    const scale = (axis: Axis, from: number, to: number) => {
      const t = axis.log ? Math.log : (v: number) => v;
      const [a, b] = axis.range.map(t);
      return (v: number) => from + ((t(v) - a) / (b - a)) * (to - from);
    };
    const [toX, toY] = [scale(s.x, box.left, box.right), scale(s.y, box.bottom, box.top)];
    let last = -1e9;
    for (const [at, words] of s.x.ticks) {
      const x = toX(at);
      svg.append(draw("line", { x1: x, x2: x, y1: box.top, y2: box.bottom, class: "hsd-grid" }));
      if (x - last < 8 * words.length) continue;
      last = x;
      svg.append(tickBelow(x, box.bottom, words));
    }
    for (const [at, words] of s.y.ticks) {
      const y = toY(at);
      svg.append(draw("line", { x1: box.left, x2: box.right, y1: y, y2: y, class: "hsd-grid" }));
      svg.append(tickBeside(box, y, words));
    }
    axisNames(svg, box, box.bottom, s.x.label, s.y.label);

    const taken: Room[] = [];
    spots = (s.points || []).map((p) => ({ ...p, px: toX(p.x), py: toY(p.y) }));
    for (const p of spots) taken.push([p.px - 8, p.py - 8, p.px + 8, p.py + 8]);
    for (const line of s.lines || []) {
      svg.append(
        draw("path", {
          d: pathOf(line.points.map(([x, y]) => [toX(x), toY(y)])),
          class: `hsd-d-line hsd-${line.kind || "plain"}`,
        }),
      );
    }
    for (const iso of s.isos || []) {
      const points = iso.points
        .map(([x, y]) => [toX(x), toY(y)])
        .filter(([, y]) => y >= box.top - 0.5 && y <= box.bottom + 0.5);
      if (points.length < 2) continue;
      svg.append(draw("path", { d: pathOf(points), class: "hsd-d-iso" }));
      const half = 3.4 * iso.label.length + 5;
      // At its end, in the emptiest area, else further along.
      for (let k = points.length - 1; k > 0; k -= 2) {
        const [x, y] = [Math.min(points[k][0], box.right - half - 4), points[k][1]];
        const room = [x - half, y - 9, x + half, y + 9];
        if (x - half < box.left + 4 || y < box.top + 10 || y > box.bottom - 8 || taken.some((t) => hit(t, room)))
          continue;
        svg.append(draw("text", { x, y: y + 4, "text-anchor": "middle", class: "hsd-halo hsd-d-isolabel" }, iso.label));
        taken.push(room);
        break;
      }
    }
    if (s.aligned) align(svg, box);
    else for (const p of [...spots].sort((a, b) => rank(a) - rank(b))) name(svg, p, taken, box);
    for (const p of [...spots].sort((a, b) => rank(b) - rank(a))) svg.append(shape(p.kind ?? "plain", p.px, p.py));
    svg.append(ring);
    frame.replaceChildren(svg);
    show();
  }
  const rank = (p: Spot) => ["strong", "second", "plain", "there"].indexOf(p.kind || "plain");
  const hit = (a: Room, b: Room) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

  const style = (p: Spot) =>
    p.kind === "strong" || p.kind === "second"
      ? "hsd-halo hsd-strong"
      : p.kind === "there"
        ? "hsd-halo hsd-tick"
        : "hsd-halo";

  /** Line labels are at the right ends, without overlap. */
  function align(svg: SVGElement, box: Box) {
    const ends = spots.filter((p) => p.label).sort((a, b) => a.py - b.py);
    const at = ends.map((p) => p.py);
    for (let k = 1; k < at.length; k++) at[k] = Math.max(at[k], at[k - 1] + 16);
    const lowest = box.bottom + 4;
    if (at.length && at[at.length - 1] > lowest) at[at.length - 1] = lowest;
    for (let k = at.length - 2; k >= 0; k--) at[k] = Math.min(at[k], at[k + 1] - 16);
    ends.forEach((p, k) => {
      const x = box.right + 12;
      if (Math.abs(at[k] - p.py) > 2)
        svg.append(draw("line", { x1: p.px + 6, y1: p.py, x2: x - 3, y2: at[k], class: "hsd-d-lead" }));
      svg.append(draw("text", { x, y: at[k] + 4, class: style(p) }, p.label));
    });
  }

  /** A label is placed where it covers nothing, else omitted. */
  function name(svg: SVGElement, p: Spot, taken: Room[], box: Box) {
    if (!p.label) return;
    const w = 7.2 * p.label.length;
    const places: [number, number, string][] = [];
    for (const far of [12, 24, 40]) {
      places.push(
        [p.px + far, p.py, "start"],
        [p.px - far, p.py, "end"],
        [p.px, p.py - far - 2, "middle"],
        [p.px, p.py + far + 2, "middle"],
      );
      places.push(
        [p.px + far, p.py - far, "start"],
        [p.px + far, p.py + far, "start"],
        [p.px - far, p.py - far, "end"],
        [p.px - far, p.py + far, "end"],
      );
    }
    for (const [x, y, anchor] of places) {
      const x0 = anchor === "start" ? x : anchor === "end" ? x - w : x - w / 2;
      const room = [x0 - 1, y - 7, x0 + w + 1, y + 7];
      if (
        room[0] < box.left + 2 ||
        room[2] > box.right - 2 ||
        room[1] < box.top ||
        room[3] > box.bottom ||
        taken.some((t) => hit(t, room))
      )
        continue;
      if (Math.hypot(x - p.px, y - p.py) > 24)
        svg.append(draw("line", { x1: p.px, y1: p.py, x2: x, y2: y, class: "hsd-d-lead" }));
      svg.append(draw("text", { x, y: y + 4, "text-anchor": anchor, class: style(p) }, p.label));
      taken.push(room);
      return;
    }
  }

  function show() {
    const s = spec();
    ring.replaceChildren();
    const p = spots[chosen];
    readout.textContent = p ? p.words : s.hint || "Hover over a mark, or use the arrow keys.";
    readout.classList.toggle("hsd-note", !p);
    if (p) ring.append(draw("circle", { cx: p.px, cy: p.py, r: 12, class: "hsd-d-ring" }));
  }
  function nearest(e: PointerEvent) {
    const at = figure.at(e);
    if (!at || !spots.length) return -1;
    const [x, y] = at;
    const best = spots.reduce(
      (b, p, k) => (Math.hypot(p.px - x, p.py - y) < Math.hypot(spots[b].px - x, spots[b].py - y) ? k : b),
      0,
    );
    return Math.hypot(spots[best].px - x, spots[best].py - y) < 48 ? best : -1;
  }
  function point(e: PointerEvent | null) {
    chosen = e ? nearest(e) : -1;
    show();
  }
  function key(e: KeyboardEvent) {
    if (!spots.length) return false;
    const order = spots.map((_, k) => k).sort((a, b) => spots[a].px - spots[b].px || spots[a].py - spots[b].py);
    const step = STEPS[e.key];
    if (step) chosen = order[Math.max(0, Math.min(order.length - 1, chosen < 0 ? 0 : order.indexOf(chosen) + step))];
    else if (e.key === "Escape") chosen = -1;
    else return false;
    show();
    return true;
  }

  function paintText() {
    const s = spec();
    title.textContent = s.title || "";
    root.setAttribute("aria-label", s.title || "");
    frame.setAttribute(
      "aria-label",
      `${s.title}. ${s.y?.label} over ${s.x?.label}. Arrow keys move between marks; the table below has all values.`,
    );
    aside.replaceChildren();
    if (s.text) aside.append(make("p", "hsd-note", s.text));
    const list = make("ul", "hsd-plot-legend");
    for (const [kind, words] of s.legend || []) {
      const sample = draw("svg", { viewBox: "0 0 30 28", "aria-hidden": "true" });
      sample.append(
        kind === "iso" ? draw("path", { d: "M2 20C12 19 20 15 28 8", class: "hsd-d-iso" }) : shape(kind, 15, 14),
      );
      list.append(entry(sample, words));
    }
    aside.append(list);
    source.textContent = s.source || "";
    table.replaceChildren();
    table.hidden = !s.table;
    if (!s.table) return;
    const [head, ...rows] = s.table;
    const grid = make("table");
    const line = (cells: string[], tag: "td" | "th") => {
      const tr = make("tr");
      cells.forEach((c, k) => {
        if (k && tag === "td") {
          tr.append(make("td", "", c));
          return;
        }
        const th = make("th", "", c);
        th.scope = tag === "td" ? "row" : "col";
        tr.append(th);
      });
      return tr;
    };
    const [thead, tbody] = [make("thead"), make("tbody")];
    thead.append(line(head, "th"));
    tbody.append(...rows.map((r) => line(r, "td")));
    grid.append(thead, tbody);
    const scroll = focusable(make("div")); // may be wider than the page
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", "Values as a table");
    scroll.append(grid);
    table.append(make("summary", "", "Values as a table"), scroll);
  }
  const redraw = () => {
    chosen = -1;
    paintText();
    paint();
  };
  figure.live({ paint, point, key });
  model.on("change:spec", redraw);
  redraw();
  return () => {
    model.off("change:spec", redraw);
    figure.remove();
  };
}

export default { render: guarded(render) };
