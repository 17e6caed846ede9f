// Exports the page's own charts as one SVG file that needs no style sheet and no HTML, one chart
// below the other.
import { draw, setAttributes } from "../lib/dom";

/** CSS properties of the charts that are written as SVG attributes. */
const STYLES = [
  ...[
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-opacity",
    "stroke-dasharray",
    "stroke-linecap",
  ],
  ...[
    "opacity",
    "font-family",
    "font-size",
    "font-weight",
    "text-anchor",
    "vector-effect",
    "paint-order",
  ],
];
/** SVG elements that are not charts: icons of buttons, plotly's figures, lines over a text. */
const NO_CHARTS = "button svg, .js-plotly-plot svg, .hsd-rounds, .hsd-link";
/** Pixels between charts, with room for labels above a chart. */
const GAP = 36;

/** Convert a mixed colour to a form that programs other than browsers read. */
const plain = (value: string) =>
  value.replace(
    /color\(srgb ([\d.e+-]+) ([\d.e+-]+) ([\d.e+-]+)(?: \/ ([\d.]+))?\)/g,
    (_, r, g, b, a = "1") => {
      const [red, green, blue] = [r, g, b].map((part) => Math.round(255 * Number(part)));
      return `rgba(${red}, ${green}, ${blue}, ${a})`;
    },
  );

/** Return a copy of a chart with its styles as attributes. */
function standaloneChart(chart: SVGSVGElement): SVGSVGElement {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  const hidden: Element[] = [];
  [chart, ...chart.querySelectorAll<SVGElement>("*")].forEach((node, k) => {
    const [made, style] = [copies[k], getComputedStyle(node)];
    if (style.display === "none" || style.visibility === "hidden") hidden.push(made);
    for (const name of made.getAttributeNames())
      if (/^(class|style|data-|aria-|tabindex|role)/.test(name)) made.removeAttribute(name);
    setAttributes(
      made,
      Object.fromEntries(STYLES.map((name) => [name, plain(style.getPropertyValue(name))])),
    );
  });
  for (const node of hidden) node.remove();
  const { width, height } = chart.getBoundingClientRect();
  return setAttributes(copy, {
    width,
    height,
    viewBox: chart.getAttribute("viewBox") ?? `0 0 ${width} ${height}`,
  });
}

/** Return the names of the rows beside a chart as SVG texts, positioned relative to the chart. */
const namesBeside = (chart: Element) => {
  const { left, top } = chart.getBoundingClientRect();
  return [...(chart.closest(".hsd-tl-chart")?.querySelectorAll(".hsd-tl-who") ?? [])].map(
    (name) => {
      const [box, style] = [name.getBoundingClientRect(), getComputedStyle(name)];
      const attributes = { x: box.left - left, y: box.bottom - top - 5, fill: plain(style.color) };
      const text = draw("text", {
        ...attributes,
        "font-family": style.fontFamily,
        "font-size": style.fontSize,
      });
      text.textContent = name.textContent;
      return text;
    },
  );
};

/** Return the charts that `page` shows as the text of one SVG file; "" without charts. */
export function drawingOf(page: HTMLElement): string {
  const charts = [...page.querySelectorAll<SVGSVGElement>(`svg:not(${NO_CHARTS})`)].filter(
    (svg) => svg.checkVisibility() && svg.clientWidth > 100,
  );
  if (!charts.length) return "";
  let top = GAP;
  const parts = charts.map((chart) => {
    const [part, names] = [standaloneChart(chart), namesBeside(chart)];
    part.append(...names);
    const wide = names.length
      ? Math.max(...names.map((name) => -Number(name.getAttribute("x"))))
      : 0;
    setAttributes(part, { overflow: "visible", x: GAP + wide, y: top });
    top += Number(part.getAttribute("height")) + GAP;
    return part;
  });
  const ends = parts.map(
    (part) => Number(part.getAttribute("x")) + Number(part.getAttribute("width")),
  );
  const size = { width: Math.max(...ends) + GAP, height: top };
  const picture = draw("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}` });
  const ground = getComputedStyle(document.body).backgroundColor;
  picture.append(
    draw("rect", { ...size, fill: /, 0\)$/.test(ground) ? "#ffffff" : plain(ground) }),
    ...parts,
  );
  return new XMLSerializer().serializeToString(picture);
}
