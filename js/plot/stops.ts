// The points of a chart that keys step through, and their words.

import type { Point } from "./library";

export interface Trace {
  type?: string;
  name?: string;
  orientation?: string;
  hoverinfo?: string;
  mode?: string;
  showlegend?: boolean;
  xaxis?: string;
  x?: unknown;
  y?: unknown;
  text?: unknown;
  customdata?: unknown;
}
export interface Stop extends Point {
  words: string;
}

const list = (values: unknown): unknown[] => (Array.isArray(values) ? values : []);
const plain = (text: unknown) => String(text).replace(/<br>/g, " ").replace(/&lt;/g, "<").replace(/&amp;/g, "&");
const order = (a: unknown, b: unknown) => (typeof a === "number" && typeof b === "number" ? a - b : 0);

/** The stops in reading order, and how many make up a row of a heat map (0: there is none). */
export function stopsOf(data: Trace[]): { stops: Stop[]; columns: number; down: boolean } {
  const map = data.findIndex((trace) => trace.type === "heatmap");
  if (map >= 0) {
    const [xs, ys, text] = [list(data[map].x), list(data[map].y), list(data[map].text)];
    const stops = ys.flatMap((y, row) =>
      xs.map((x, column) => ({
        curveNumber: map,
        xval: x,
        yval: y,
        x,
        y,
        words: plain(list(text[row])[column] ?? ""),
      })),
    );
    return { stops, columns: xs.length, down: false };
  }
  const down = data.some((trace) => trace.orientation === "h");
  const all = data.flatMap((trace, curveNumber) =>
    trace.hoverinfo === "skip"
      ? []
      : list(trace.x).map((x, pointNumber) => {
          const y = list(trace.y)[pointNumber];
          const said = list(trace.customdata)[pointNumber];
          const words = typeof said === "string" ? said : [trace.name, `${x}: ${y}`].filter(Boolean).join(", ");
          return { curveNumber, pointNumber, x, y, words: plain(words), pane: trace.xaxis ?? "" };
        }),
  );
  const along = (a: (typeof all)[0], b: (typeof all)[0]) =>
    down ? a.pane.localeCompare(b.pane) || order(a.y, b.y) : order(a.x, b.x) || order(a.y, b.y);
  return { stops: all.sort(along), columns: 0, down };
}

/** Where a key leads from `at` (-1: from nowhere); null for a key that does not move. */
export function stepped(key: string, at: number, columns: number, down: boolean, count: number): number | null {
  const vertical = columns || (down ? -1 : 1);
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: vertical, ArrowDown: -vertical };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (!(key in steps)) return null;
  if (at < 0) return 0;
  const to = at + steps[key];
  const leaves = columns && Math.abs(steps[key]) === 1 && Math.floor(to / columns) !== Math.floor(at / columns);
  return leaves || to < 0 || to >= count ? at : to;
}
