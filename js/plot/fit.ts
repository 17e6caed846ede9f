// A figure for the page that shows it: in its theme, without the heading that the page writes itself, as wide as its place.

import type { Trace } from "./stops";

export interface Axis {
  ticklabelposition?: string;
  title?: unknown;
}
export interface Layout {
  title?: { text?: string };
  width?: number;
  height?: number;
  margin?: { t?: number; r?: number; b?: number; l?: number };
  paper_bgcolor?: string;
  dragmode?: unknown;
  meta?: { head?: number; picks?: boolean };
  [name: string]: unknown;
}
interface Figure {
  data: (Trace & { width?: unknown; offset?: number })[];
  layout: Layout;
}

/** Pixels below which labels of bars are above them. */
const NARROW = 560;
/** A row of bars with its label above, as a multiple of one with its label beside. */
const TALLER = 1.5;

/** A copy of a figure with `changes` (path, value). */
export function recoloured<F extends Figure>(figure: F, changes: [(string | number)[], unknown][]): F {
  const copy = structuredClone(figure);
  for (const [path, value] of changes) {
    const last = path[path.length - 1];
    // biome-ignore lint/suspicious/noExplicitAny: a path leads through objects and lists of any kind
    const inner = path.slice(0, -1).reduce<any>((node, name) => node[name], copy);
    inner[last] = value;
  }
  return copy;
}

/** Prepare a figure, in place, for a page `width` pixels wide. */
export function fitted<F extends Figure>(figure: F, width: number): F {
  const { data, layout } = figure;
  const { t = 0, b = 0, ...margin } = layout.margin ?? {};
  const [head, height] = [layout.meta?.head, layout.height ?? 450];
  const bars = data.some((trace) => trace.orientation === "h");
  const narrow = width < NARROW && bars;
  if (narrow) {
    for (const name of Object.keys(layout).filter((key) => key.startsWith("yaxis"))) {
      const axis = layout[name] as Axis;
      axis.ticklabelposition = "inside top";
      axis.title = undefined;
    }
    for (const trace of data)
      if (trace.orientation === "h") Object.assign(trace, { width: 0.36, offset: 0.06 });
      else if (Array.isArray(trace.y)) trace.y = trace.y.map((y) => (typeof y === "number" ? y + 0.24 : y));
  }
  const more = narrow ? (TALLER - 1) * (height - t - b) : 0;
  layout.width = width;
  layout.height = Math.round(height - (head ?? 0) + more);
  if (head !== undefined) {
    layout.title = undefined;
    layout.margin = { ...margin, b, t: Math.max(8, t - head) };
  }
  layout.paper_bgcolor = "rgba(0,0,0,0)";
  // A finger scrolls the page.
  if (layout.meta?.picks || matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
  return figure;
}
