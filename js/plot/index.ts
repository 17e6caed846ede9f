// A heat map with contours and marks, or curves over a lookahead, in SVG.

import { draw, entry, make } from "../lib/dom";
import { axisNames, figureIn, pathOf, tickBelow, tickBeside } from "../lib/figure";
import { guarded } from "../lib/notice";
import type { Drawing, Model } from "../lib/widget";

interface Axis {
  label: string;
  range: number[];
  ticks: [number, string][];
  values?: string[];
}
interface Cells {
  x: number[];
  y: number[];
  values: number[][];
  scale: "time" | "gain";
  best: number;
  end: number;
  ends: string[];
  phrase: string;
}
interface Mark {
  kind: string;
  x: number;
  y: number;
  text?: string;
  words: string;
}
interface Line {
  kind?: string;
  points: number[][];
  label?: string;
  phrase: string;
}
interface Contour {
  points: number[][];
  label: string;
  main?: boolean;
}
interface Spec {
  title?: string;
  name?: string;
  text?: string;
  hint?: string;
  source?: string;
  shape?: number;
  picks?: boolean;
  x: Axis;
  y: Axis;
  cells?: Cells;
  marks?: Mark[];
  regions?: { x: number; y: number; text: string }[];
  lines?: Line[];
  contours?: Contour[];
  legend?: [string, string][];
  verdict?: { figure: string; text: string };
}
interface Label {
  x: number;
  y: number;
  text: string;
  main?: boolean;
}
interface Traits {
  spec: Spec;
  chosen: number[];
}

const short = (v: number) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v.toFixed(3));
const percent = (v: number) => `${v >= 0 ? "+" : "−"}${Math.abs(100 * v).toFixed(0)} %`;

/** The CSS colour of a cell. Time: best is darkest. Gain: blue is positive, orange negative. */
function colour(cells: Cells, v: number) {
  if (cells.scale === "gain") {
    const t = Math.min(1, Math.abs(v) / cells.end);
    return `color-mix(in oklab, var(--${v >= 0 ? "accent" : "loss"}) ${(62 * t).toFixed(1)}%, var(--paper))`;
  }
  const t = Math.min(1, Math.max(0, Math.log(v / cells.best) / Math.log(cells.end)));
  return `color-mix(in oklab, var(--accent) ${(66 * (1 - t) ** 1.4).toFixed(1)}%, var(--paper))`;
}

function star(x: number, y: number, r: number) {
  const points = [];
  for (let k = 0; k < 10; k++) {
    const far = k % 2 ? 0.45 * r : r;
    const at = (Math.PI * k) / 5 - Math.PI / 2;
    points.push(`${(x + far * Math.cos(at)).toFixed(1)},${(y + far * Math.sin(at)).toFixed(1)}`);
  }
  return points.join(" ");
}

/** The shapes of a mark; each kind has its own, independent of colour. */
function shape(kind: string, x: number, y: number) {
  if (kind === "best") return [draw("polygon", { points: star(x, y, 9), class: "hsd-shape" })];
  if (kind === "affine") {
    const points = `${x},${y - 13} ${x + 13},${y} ${x},${y + 13} ${x - 13},${y}`;
    return [
      draw("polygon", { points, class: "hsd-shape hsd-under" }),
      draw("polygon", { points, class: "hsd-shape hsd-affine" }),
    ];
  }
  if (kind === "here") {
    const d = `M${x - 15} ${y}H${x - 6}M${x + 6} ${y}H${x + 15}M${x} ${y - 15}V${y - 6}M${x} ${y + 6}V${y + 15}`;
    return ["hsd-shape hsd-under", "hsd-shape hsd-here"].flatMap((cls) => [
      draw("circle", { cx: x, cy: y, r: 8, class: cls }),
      draw("path", { d, class: cls }),
    ]);
  }
  if (kind === "model") return [draw("rect", { x: x - 5, y: y - 5, width: 10, height: 10, class: "hsd-shape" })];
  return [draw("circle", { cx: x, cy: y, r: 6, class: "hsd-shape hsd-measured" })];
}

const STEPS: Record<string, number[]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function createView(model: Model<Traits>, el: HTMLElement) {
  const figure = figureIn(el, "hsd-plot-body");
  const { title, frame, readout, aside, source } = figure;

  let cursor: { column: number; row: number } | null = null;
  let toX = (v: number) => v;
  let toY = (v: number) => v;
  let box = { left: 0, right: 0, top: 0, bottom: 0 };
  const cursorNode = draw("g", { class: "hsd-cursor" });
  const spec = () => model.get("spec");

  function edges(at: number[], range: number[]) {
    const out = [range[0]];
    for (let k = 1; k < at.length; k++) out.push((at[k - 1] + at[k]) / 2);
    return [...out, range[1]];
  }

  function paint() {
    const s = spec();
    if (!s.x) return;
    const width = figure.width();
    box = { left: 62, right: width - 10, top: 10, bottom: 0 };
    const inner = box.right - box.left;
    box.bottom = box.top + Math.round(Math.max(200, inner * (s.shape || 0.6)));
    const height = box.bottom + 46;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
    toX = (v: number) => box.left + (inner * (v - s.x.range[0])) / (s.x.range[1] - s.x.range[0]);
    toY = (v: number) => box.bottom - ((box.bottom - box.top) * (v - s.y.range[0])) / (s.y.range[1] - s.y.range[0]);
    if (s.cells) {
      paintCells(svg, s, s.cells);
      svg.append(
        draw("rect", {
          x: box.left,
          y: box.top,
          width: inner,
          height: box.bottom - box.top,
          class: "hsd-grid",
          fill: "none",
        }),
      );
    }
    for (const [at, words] of s.x.ticks) {
      if (!s.cells)
        svg.append(draw("line", { x1: toX(at), x2: toX(at), y1: box.top, y2: box.bottom, class: "hsd-grid" }));
      svg.append(tickBelow(toX(at), box.bottom, words));
    }
    for (const [at, words] of s.y.ticks) {
      if (!s.cells)
        svg.append(draw("line", { x1: box.left, x2: box.right, y1: toY(at), y2: toY(at), class: "hsd-grid" }));
      svg.append(tickBeside(box, toY(at), words));
    }
    axisNames(svg, box, box.bottom, s.x.label, s.y.label);
    // Labels avoid marks and their labels.
    const taken = (s.marks || []).flatMap((m) => [
      [toX(m.x), toY(m.y)],
      ...(m.text ? [[toX(m.x) + 20 + 4 * m.text.length, toY(m.y)]] : []),
    ]);
    const regions = (s.regions || []).map((r) => {
      const x = toX(r.x);
      let y = toY(r.y);
      // Avoid a mark and its label.
      while (taken.some(([a, b]) => Math.abs(a - x) < 110 && Math.abs(b - y) < 30) && y < box.bottom - 24) y += 12;
      return { x, y, text: r.text };
    });
    for (const r of regions) taken.push([r.x - 36, r.y], [r.x, r.y], [r.x + 36, r.y]);
    for (const line of s.lines || []) paintLine(svg, line);
    paintContours(svg, s.contours || [], taken);
    for (const r of regions) {
      svg.append(draw("text", { x: r.x, y: r.y + 4, "text-anchor": "middle", class: "hsd-halo hsd-strong" }, r.text));
    }
    paintMarks(svg, s.marks || []);
    svg.append(cursorNode);
    frame.replaceChildren(svg);
    paintCursor();
  }

  function paintCells(svg: SVGElement, s: Spec, cells: Cells) {
    const xs = edges(cells.x, s.x.range).map(toX);
    const ys = edges(cells.y, s.y.range).map(toY);
    const group = draw("g", { "shape-rendering": "crispEdges" });
    cells.values.forEach((row, r) =>
      row.forEach((v, c) => {
        const cell = draw("rect", { x: xs[c], y: ys[r + 1], width: xs[c + 1] - xs[c], height: ys[r] - ys[r + 1] });
        cell.style.fill = colour(cells, v);
        group.append(cell);
      }),
    );
    svg.append(group);
  }

  function paintLine(svg: SVGElement, line: Line) {
    const points = line.points.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(" ");
    const reference = line.kind === "reference";
    svg.append(draw("polyline", { points, class: reference ? "hsd-curve hsd-reference" : "hsd-curve" }));
    if (!reference)
      for (const [x, y] of line.points) svg.append(draw("circle", { cx: toX(x), cy: toY(y), r: 4, class: "hsd-dot" }));
    if (line.label) {
      const [x, y] = line.points[line.points.length - 1];
      svg.append(
        draw("text", { x: toX(x) - 2, y: toY(y) - 7, "text-anchor": "end", class: "hsd-halo hsd-tick" }, line.label),
      );
    }
  }

  /** A contour's label is placed furthest from marks, other labels and the border, without overlap; main contours first. */
  function paintContours(svg: SVGElement, lines: Contour[], taken: number[][]) {
    for (const line of lines) {
      const d = pathOf(line.points.map(([x, y]) => [toX(x), toY(y)]));
      svg.append(draw("path", { d, class: line.main ? "hsd-contour hsd-main" : "hsd-contour" }));
    }
    const labels: Label[] = [];
    for (const line of [...lines].sort((a, b) => Number(Boolean(b.main)) - Number(Boolean(a.main)))) {
      if (line.points.length < 3 || labels.some((l) => l.text === line.label)) continue;
      let best: Label | null = null;
      let room = 26;
      for (const [x, y] of line.points.map(([u, v]) => [toX(u), toY(v)])) {
        // Half a character is about 3.6 px wide, a line 16 px high.
        const clear = labels.every(
          (l) => Math.abs(l.x - x) > 3.6 * (l.text.length + line.label.length) + 4 || Math.abs(l.y - y) > 18,
        );
        const border = Math.min(x - box.left - 6, box.right - x - 6, 1.4 * (y - box.top), 1.4 * (box.bottom - y));
        const free = Math.min(
          border,
          ...[...taken, ...labels.map((l) => [l.x, l.y])].map(([a, b]) => Math.hypot((a - x) * 0.75, b - y)),
        );
        if (clear && free > room) {
          room = free;
          best = { x, y, text: line.label, main: line.main };
        }
      }
      if (best) labels.push(best);
    }
    for (const l of labels) {
      svg.append(
        draw(
          "text",
          { x: l.x, y: l.y + 4, "text-anchor": "middle", class: l.main ? "hsd-halo hsd-strong" : "hsd-halo" },
          l.text,
        ),
      );
    }
  }

  function paintMarks(svg: SVGElement, marks: Mark[]) {
    // Open shapes are drawn below filled ones.
    const order = ["affine", "model", "best", "measured", "here"];
    const drawn: number[][] = [];
    for (const m of [...marks].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))) {
      const [x, y] = [toX(m.x), toY(m.y)];
      const group = draw("g");
      group.append(draw("title", {}, m.words), ...shape(m.kind, x, y));
      if (m.text && m.kind === "model") {
        group.append(draw("text", { x, y: y - 20, "text-anchor": "middle", class: "hsd-halo hsd-strong" }, m.text));
      } else if (m.text) {
        const aside = m.kind === "here" ? 20 : 14;
        const right = x < box.right - aside - 8 * m.text.length;
        const crowded = drawn.some(
          ([a, b]) => Math.abs(b - y) < 14 && (right ? a >= x && a - x < 60 : a <= x && x - a < 60),
        );
        group.append(
          draw(
            "text",
            {
              x: x + (right ? aside : -aside),
              y: y + (crowded ? 20 : 4),
              "text-anchor": right ? "start" : "end",
              class: "hsd-halo hsd-strong",
            },
            m.text,
          ),
        );
      }
      drawn.push([x, y]);
      svg.append(group);
    }
  }

  // --- the cursor: pointer or arrow keys
  const stops = (s: Spec) => (s.cells ? s.cells.x : s.lines?.[0].points.map((p) => p[0]) || []);
  function words(s: Spec) {
    if (!cursor) return "";
    const { cells } = s;
    const { column, row } = cursor;
    if (cells) {
      const v = cells.values[row]?.[column];
      if (v === undefined) return "";
      const place = (axis: Axis, at: number) =>
        axis.values ? axis.values[at] : String(axis === s.x ? cells.x[at] : cells.y[at]);
      const value = cells.scale === "gain" ? percent(v) : short(v);
      const text = cells.phrase
        .replace("{x}", place(s.x, column))
        .replace("{y}", place(s.y, row))
        .replace("{v}", value);
      const near = (s.marks || []).filter(
        (m) => m.words && nearest(cells.x, m.x) === column && nearest(cells.y, m.y) === row,
      );
      const sentence = cells.scale === "gain" ? text : text.replace("{r}", short(v / cells.best));
      return `${[sentence, ...near.map((m) => m.words)].join("; ")}.`;
    }
    const line = s.lines?.[0];
    const point = line?.points[column];
    return line && point ? `${line.phrase.replace("{x}", String(point[0])).replace("{v}", short(point[1]))}.` : "";
  }
  function paintCursor() {
    const s = spec();
    cursorNode.replaceChildren();
    readout.textContent = cursor ? words(s) : s.hint || "Hover over the figure, or use the arrow keys.";
    readout.classList.toggle("hsd-note", !cursor);
    if (!cursor) return;
    if (s.cells) {
      const xs = edges(s.cells.x, s.x.range).map(toX);
      const ys = edges(s.cells.y, s.y.range).map(toY);
      const [c, r] = [cursor.column, cursor.row];
      cursorNode.append(draw("rect", { x: xs[c], y: ys[r + 1], width: xs[c + 1] - xs[c], height: ys[r] - ys[r + 1] }));
    } else if (s.lines?.length) {
      const [x, y] = s.lines[0].points[cursor.column];
      cursorNode.append(draw("circle", { cx: toX(x), cy: toY(y), r: 8 }));
    }
  }
  const nearest = (all: number[], v: number) =>
    all.reduce((best, x, k) => (Math.abs(x - v) < Math.abs(all[best] - v) ? k : best), 0);
  function locate(e: PointerEvent | MouseEvent) {
    const at = figure.at(e);
    if (!at) return null;
    const [px, py] = at;
    if (px < box.left || px > box.right || py < box.top || py > box.bottom) return null;
    const s = spec();
    const x = s.x.range[0] + ((px - box.left) / (box.right - box.left)) * (s.x.range[1] - s.x.range[0]);
    const y = s.y.range[0] + ((box.bottom - py) / (box.bottom - box.top)) * (s.y.range[1] - s.y.range[0]);
    return { column: nearest(stops(s), x), row: s.cells ? nearest(s.cells.y, y) : 0 };
  }
  function choose() {
    const s = spec();
    if (!cursor || !s.picks) return;
    const x = stops(s)[cursor.column];
    model.set("chosen", s.cells ? [x, s.cells.y[cursor.row]] : [x]);
    model.save_changes();
  }
  function point(e: PointerEvent | null) {
    cursor = e && locate(e);
    paintCursor();
  }
  frame.addEventListener("click", (e) => {
    cursor = locate(e);
    choose();
  });
  function key(e: KeyboardEvent) {
    const s = spec();
    const step = STEPS[e.key];
    if (step && stops(s).length) {
      const from = cursor || { column: 0, row: 0 };
      const rows = s.cells ? s.cells.y.length : 1;
      cursor = {
        column: Math.max(0, Math.min(stops(s).length - 1, from.column + (cursor ? step[0] : 0))),
        row: Math.max(0, Math.min(rows - 1, from.row + (cursor ? step[1] : 0))),
      };
      paintCursor();
    } else if (e.key === "Enter") choose();
    else if (e.key === "Escape") point(null);
    else return false;
    return true;
  }

  // --- beside the figure
  function paintAside() {
    const s = spec();
    aside.replaceChildren();
    if (s.verdict) {
      const box = make("div", "hsd-verdict");
      box.setAttribute("aria-live", "polite");
      box.append(make("strong", "", s.verdict.figure), make("p", "", s.verdict.text));
      aside.append(box);
    }
    if (s.text) aside.append(make("p", "hsd-note", s.text));
    if (s.legend?.length) {
      const list = make("ul", "hsd-plot-legend");
      for (const [kind, what] of s.legend) {
        const sample = draw("svg", { viewBox: "0 0 30 28", "aria-hidden": "true" });
        sample.append(...shape(kind, 15, 14));
        list.append(entry(sample, what));
      }
      aside.append(list);
    }
    if (s.cells) {
      const c = s.cells;
      const ramp = make("div", "hsd-ramp");
      const bar = make("div", "hsd-ramp-bar");
      for (let k = 0; k < 24; k++) {
        const t = k / 23;
        const piece = make("span");
        piece.style.background = colour(c, c.scale === "gain" ? c.end * (2 * t - 1) : c.best * c.end ** t);
        bar.append(piece);
      }
      const ends = make("div", "hsd-ramp-ends");
      ends.append(...c.ends.map((t) => make("span", "", t)));
      ramp.append(bar, ends);
      aside.append(ramp);
    }
  }

  function redraw() {
    const s = spec();
    title.textContent = s.title || "";
    title.hidden = !s.title;
    source.textContent = s.source || "";
    source.hidden = !s.source;
    frame.setAttribute(
      "aria-label",
      `${s.title || s.name || "Figure"}. Arrow keys move the cursor${s.picks ? ", Enter selects" : ""}.`,
    );
    paint();
    paintAside();
  }
  figure.live({ paint, point, key });
  model.on("change:spec", redraw);
  redraw();
  return () => {
    model.off("change:spec", redraw);
    figure.remove();
  };
}

export default { render: guarded(({ model, el }: Drawing<Traits>) => createView(model, el)) };
