// Lays out horizontal bars on a narrow page: labels are above the bars and values at the right
// edge, so that bars use the full width. Pure functions.

/** The parts of a figure of horizontal bars that are read and changed. */
export interface Bars {
  data: Trace[];
  layout: {
    width?: number;
    height?: number;
    margin?: { t?: number; r?: number; b?: number; l?: number };
    yaxis?: object;
    shapes?: object[];
    annotations?: object[];
    meta?: { rows?: [place: number, label: string][] };
  };
}
interface Trace {
  type?: string;
  mode?: string;
  name?: string;
  showlegend?: boolean;
  width?: number;
  y?: number[];
  text?: string[];
  textfont?: { color?: string };
}
/** Height of a row whose label and values share one line, and of one with two lines, in pixels. */
const ROW = { one: 40, two: 56 };
const BAR = 12;
/** Pixels from the middle of a bar to the line above it, and height of a line. */
const GAP = 7;
const LINE = 16;
/** Maximum width of a character, and width of a legend entry besides its name, in pixels. */
const CHARACTER = 7.2;
const ENTRY = 48;
const MARGIN = { l: 8, r: 16 };
/** Height of a legend's line, and the figure width for which the legend was laid out, in pixels. */
const LEGEND = { line: 20, usual: 680 };

const plainOf = (label: string) => label.replace(/<[^>]*>/g, "").replace(/&\w+;/g, "x");

/** Return the number of lines of a legend whose entries form columns of equal width. */
function legendLines(data: readonly Trace[], width: number): number {
  const names = data
    .filter(({ showlegend }) => showlegend !== false)
    .map(({ name = "" }) => name.length)
    .filter(Boolean);
  const entryWidth = ENTRY + CHARACTER * Math.max(0, ...names);
  return Math.ceil(names.length / Math.max(1, Math.floor(width / entryWidth)));
}

/** Lay out a figure of bars for a page `width` pixels wide, in place; leave others unchanged. */
export function narrow({ data, layout }: Bars, width: number): void {
  const rows = layout.meta?.rows;
  if (!rows?.length) return;
  const words = data.find(({ mode }) => mode === "text");
  const valueAt = new Map(words?.y?.map((place, k) => [place, words.text?.[k]?.trim() ?? ""]));
  const valueText = (place: number) => valueAt.get(place) ?? "";
  const lengths = rows.map(([place, label]) => plainOf(label).length + valueText(place).length + 2);
  const isOneLine = CHARACTER * Math.max(...lengths) <= width - MARGIN.l - MARGIN.r;
  const row = isOneLine ? ROW.one : ROW.two;
  const text = (y: number, x: number, said: string, yshift: number, font: object) => ({
    text: said,
    x,
    y,
    yshift,
    font,
    xref: "paper",
    yref: "y",
    xanchor: x ? "right" : "left",
    yanchor: "bottom",
    showarrow: false,
  });
  const labelled = rows.flatMap(([place, label]) => {
    const above = isOneLine ? GAP : GAP + LINE;
    const name = text(place, 0, label, above, {});
    const value = valueText(place);
    return value ? [name, text(place, 1, value, GAP, words?.textfont ?? {})] : [name];
  });
  layout.annotations = [...(layout.annotations ?? []), ...labelled];
  // Draw lines below the values that they cross.
  layout.shapes = layout.shapes?.map((shape) => ({ ...shape, layer: "below", opacity: 0.55 }));
  if (words) data.splice(data.indexOf(words), 1);
  for (const trace of data) if (trace.type === "bar") trace.width = BAR / row;
  const [first] = rows[0];
  const last = rows[rows.length - 1][0];
  const head = (isOneLine ? GAP + LINE : GAP + 2 * LINE) / row + 0.1;
  const foot = 0.45;
  layout.yaxis = {
    ...layout.yaxis,
    showticklabels: false,
    range: [last + foot, first - head],
  };
  const { t = 0, b = 0 } = layout.margin ?? {};
  const more = legendLines(data, width) - legendLines(data, LEGEND.usual);
  const bottom = b + LEGEND.line * Math.max(0, more);
  layout.margin = { ...layout.margin, ...MARGIN, b: bottom };
  layout.height = t + bottom + row * (last - first + head + foot);
  layout.width = width;
}
