// Bars on a narrow page: labels above them and values at the right edge, so that bars have the
// whole width. Pure.

/** What is read of a figure of horizontal bars, and changed. */
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
/** Pixels of a row whose label and values share a line, and of one whose lines are two. */
const ROW = { one: 40, two: 56 };
const BAR = 12;
/** Pixels from the middle of a bar to the line above it, and of a line. */
const GAP = 7;
const LINE = 16;
/** Pixels of a character, at most, and of what an entry of the legend has besides its name. */
const CHARACTER = 7.2;
const ENTRY = 48;
const MARGIN = { l: 8, r: 16 };
/** Pixels of the line of a legend, and the width for which the figure has its lines. */
const LEGEND = { line: 20, usual: 680 };

const plainOf = (label: string) => label.replace(/<[^>]*>/g, "").replace(/&\w+;/g, "x");

/** The lines of a legend whose entries are columns of one width. */
function legendLines(data: readonly Trace[], width: number): number {
  const names = data
    .filter(({ showlegend }) => showlegend !== false)
    .map(({ name = "" }) => name.length)
    .filter(Boolean);
  const most = ENTRY + CHARACTER * Math.max(0, ...names);
  return Math.ceil(names.length / Math.max(1, Math.floor(width / most)));
}

/** Lay out a figure of bars, in place, for a page `width` pixels wide; others stay as they are. */
export function narrow({ data, layout }: Bars, width: number): void {
  const rows = layout.meta?.rows;
  if (!rows?.length) return;
  const words = data.find(({ mode }) => mode === "text");
  const valueAt = new Map(words?.y?.map((place, k) => [place, words.text?.[k]?.trim() ?? ""]));
  const valueWords = (place: number) => valueAt.get(place) ?? "";
  const lengths = rows.map(
    ([place, label]) => plainOf(label).length + valueWords(place).length + 2,
  );
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
    const value = valueWords(place);
    return value ? [name, text(place, 1, value, GAP, words?.textfont ?? {})] : [name];
  });
  layout.annotations = [...(layout.annotations ?? []), ...labelled];
  // Values are above the line that crosses them.
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
