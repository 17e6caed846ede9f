// Panels of a figure on a narrow page: below each other, each as wide as the page. Pure.

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
/** What is read of a figure with panels in a row, and changed. */
export interface Panels {
  width?: number;
  height?: number;
  margin?: { t?: number; r?: number; b?: number; l?: number };
  annotations?: Annotation[];
  legend?: object;
  [axis: `${"x" | "y"}axis${string}`]: Axis;
}

/** Pixels between two panels, with the numbers and the name of the upper one's axis. */
const BETWEEN = 84;
const MARGIN = { l: 56, r: 12 };

/** The axes of the panels across, from left to right. */
function across(layout: Panels): Axis[] {
  const names = Object.keys(layout).filter((name) => name.startsWith("xaxis"));
  const axes = names.map((name) => layout[name as "xaxis"]);
  const startOf = ({ domain }: Axis) => domain?.[0] ?? 0;
  return axes.sort((a, b) => startOf(a) - startOf(b));
}

/** Put the panels of a figure below each other, in place, for a page `width` pixels wide. */
export function stack(layout: Panels, width: number): void {
  const axes = across(layout);
  const starts = new Set(axes.map(({ domain }) => domain?.[0]));
  if (axes.length < 2 || starts.size < axes.length) return;
  const { t = 0, b = 0 } = layout.margin ?? {};
  const one = (layout.height ?? 450) - t - b;
  const whole = axes.length * one + (axes.length - 1) * BETWEEN;
  /** Pixels from the foot of the lowest panel to the top of one. */
  const topOf = (panel: number) => whole - panel * (one + BETWEEN);
  const ends = axes.map(({ domain }) => domain?.[1] ?? 1);
  for (const annotation of layout.annotations ?? []) {
    if (annotation.xref !== "paper") continue;
    const panel = ends.findIndex((end) => (annotation.x ?? 0) <= end);
    Object.assign(annotation, { x: 0.5, y: topOf(panel) / whole });
  }
  axes.forEach((axis, k) => {
    const top = topOf(k);
    const name = `yaxis${axis.anchor?.slice(1) ?? ""}` as const;
    axis.domain = [0, 1];
    layout[name] = {
      ...layout[name],
      domain: [(top - one) / whole, top / whole],
      showticklabels: true,
    };
  });
  layout.margin = { ...layout.margin, ...MARGIN };
  layout.height = t + b + whole;
  layout.width = width;
}
