// Lays out the panels of a figure on a narrow page: below each other, each as wide as the page.
// Pure functions.

type Domain = [from: number, to: number];
interface Axis {
  domain?: Domain;
  anchor?: string;
  showticklabels?: boolean;
}
interface Annotation {
  x?: number;
  y?: number;
  xref?: string;
}
/** The parts of a figure with panels in a row that are read and changed. */
export interface Panels {
  width?: number;
  height?: number;
  margin?: { t?: number; r?: number; b?: number; l?: number };
  annotations?: Annotation[];
  legend?: object;
  [axis: `${"x" | "y"}axis${string}`]: Axis;
}

/** Pixels between two panels, including the numbers and the name of the upper one's axis. */
const BETWEEN = 84;
const MARGIN = { l: 56, r: 12 };

/** Return the horizontal axes of the panels, from left to right. */
function across(layout: Panels): Axis[] {
  const names = Object.keys(layout).filter((name) => name.startsWith("xaxis"));
  const axes = names.map((name) => layout[name as "xaxis"]);
  const startOf = ({ domain }: Axis) => domain?.[0] ?? 0;
  return axes.sort((a, b) => startOf(a) - startOf(b));
}

/** Stack the panels of a figure for a page `width` pixels wide, in place. */
export function stack(layout: Panels, width: number): void {
  const axes = across(layout);
  const starts = new Set(axes.map(({ domain }) => domain?.[0]));
  if (axes.length < 2 || starts.size < axes.length) return;
  const { t = 0, b = 0 } = layout.margin ?? {};
  const panelHeight = (layout.height ?? 450) - t - b;
  const totalHeight = axes.length * panelHeight + (axes.length - 1) * BETWEEN;
  /** Return the pixels from the foot of the lowest panel to the top of a panel. */
  const topOf = (panel: number) => totalHeight - panel * (panelHeight + BETWEEN);
  const ends = axes.map(({ domain }) => domain?.[1] ?? 1);
  for (const annotation of layout.annotations ?? []) {
    if (annotation.xref !== "paper") continue;
    const panel = ends.findIndex((end) => (annotation.x ?? 0) <= end);
    Object.assign(annotation, { x: 0.5, y: topOf(panel) / totalHeight });
  }
  axes.forEach((axis, k) => {
    const top = topOf(k);
    const name = `yaxis${axis.anchor?.slice(1) ?? ""}` as const;
    axis.domain = [0, 1];
    layout[name] = {
      ...layout[name],
      domain: [(top - panelHeight) / totalHeight, top / totalHeight],
      showticklabels: true,
    };
  });
  layout.margin = { ...layout.margin, ...MARGIN };
  layout.height = t + b + totalHeight;
  layout.width = width;
}
