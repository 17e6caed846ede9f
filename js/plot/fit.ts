// A figure for the page that shows it: in its theme, without the heading that the page writes itself, as wide as its place.

/** A trace of plotly, as far as it is read here. */
export interface Trace {
  type?: string;
  orientation?: string;
  name?: string;
  showlegend?: boolean;
  x?: unknown;
  y?: unknown;
  [name: string]: unknown;
}
export interface Axis {
  tickvals?: number[];
  ticktext?: string[];
}
export interface Layout {
  title?: { text?: string };
  width?: number;
  height?: number;
  margin?: { t?: number; r?: number; b?: number; l?: number };
  paper_bgcolor?: string;
  dragmode?: unknown;
  meta?: { head?: number };
  [name: string]: unknown;
}
interface Figure {
  data: (Trace & { width?: unknown; offset?: number })[];
  layout: Layout;
}

/** Pixels below which labels of bars are above them. */
const NARROW = 560;
/** The most of a page's width that labels and values of bars take; beyond it, labels are above. */
const BESIDE = 0.4;
/** Pixels above a drawing that plotly's buttons take. */
const TOOLBAR = 30;
/** Pixels of a legend's line, and the width that Python makes room for (legend_room). */
const LINE = 24;
const USUAL = 680;
/** A row of bars with its label and its value above, as a multiple of one with them beside. */
const TALLER = 2.2;

/** The labels of a vertical axis as text above its bars. */
const above = ({ tickvals = [], ticktext = [] }: Axis, id: string) => ({
  type: "scatter",
  mode: "text",
  hoverinfo: "skip",
  showlegend: false,
  cliponaxis: false,
  textposition: "top right",
  x: tickvals.map(() => 0),
  y: tickvals.map((at) => at - 0.25),
  text: ticktext.map((words) => words.replaceAll("<br>", " · ")),
  xaxis: `x${id}`,
  yaxis: `y${id}`,
});

/** The lines of a legend, as Python estimates them. */
function legendLines(data: Trace[], width: number) {
  const names = data.filter((trace) => trace.name && trace.showlegend !== false).map((trace) => trace.name ?? "");
  if (names.length < 2) return 0;
  return width < NARROW
    ? names.length
    : Math.ceil(names.reduce((sum, name) => sum + 52 + 6.8 * name.length, 0) / width);
}

/** Prepare a figure, in place, for a page `width` pixels wide. */
export function fitted<F extends Figure>(figure: F, width: number): F {
  const { data, layout } = figure;
  const { t = 0, b = 0, ...margin } = layout.margin ?? {};
  const [head, height] = [layout.meta?.head, layout.height ?? 450];
  const axes = Object.keys(layout).filter((key) => key.startsWith("yaxis"));
  const longest = Math.max(...axes.flatMap((name) => (layout[name] as Axis).ticktext?.map((t) => t.length) ?? 0));
  const crowded = 6.6 * longest + (margin.r ?? 0) > BESIDE * width;
  const narrow = width < NARROW && crowded && data.some((trace) => trace.orientation === "h");
  const labels: Trace[] = [];
  if (narrow) {
    for (const name of axes) {
      const axis = layout[name] as Axis;
      labels.push(above(axis, name.replace("yaxis", "")));
      Object.assign(axis, { showticklabels: false, title: undefined });
    }
    for (const trace of data)
      if (trace.orientation === "h") Object.assign(trace, { width: 0.36, offset: 0.06 });
      else if (trace.mode === "text" && Array.isArray(trace.y))
        Object.assign(trace, {
          x: trace.y.map(() => 0),
          y: trace.y.map((y) => Number(y) + 0.02),
          textposition: "top right",
          text: (trace.text as string[]).map((words) => words.trim()),
        });
      else if (Array.isArray(trace.y)) trace.y = trace.y.map((y) => (typeof y === "number" ? y + 0.24 : y));
    margin.r = 16;
    data.push(...labels);
  }
  const more =
    (narrow ? (TALLER - 1) * (height - t - b) : 0) +
    LINE * Math.max(0, legendLines(data, width) - legendLines(data, USUAL));
  layout.width = width;
  const top = head === undefined ? t : Math.max(TOOLBAR, t - head);
  layout.height = Math.round(height - t + top + more);
  if (head !== undefined) {
    layout.title = undefined;
    layout.margin = { ...margin, b, t: top };
  }
  layout.paper_bgcolor = "rgba(0,0,0,0)";
  // A finger scrolls the page.
  if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
  return figure;
}
