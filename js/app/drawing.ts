// Vector pictures of the page's own charts: SVG with its styles written out, without HTML, one
// chart below the other.
import { draw, setAttributes } from "../lib/dom";

/** Styles that the charts use, as attributes of SVG. */
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
/** Drawings that are controls, of another library, or lines over a text. */
const NO_CHARTS = "button svg, .js-plotly-plot svg, .hsd-rounds, .hsd-link";
/** Pixels between charts: labels may be above their chart. */
const GAP = 36;

/** A mixed colour as programs other than browsers read it. */
const plain = (value: string) =>
  value.replace(
    /color\(srgb ([\d.e+-]+) ([\d.e+-]+) ([\d.e+-]+)(?: \/ ([\d.]+))?\)/g,
    (_, r, g, b, a = "1") => {
      const [red, green, blue] = [r, g, b].map((part) => Math.round(255 * Number(part)));
      return `rgba(${red}, ${green}, ${blue}, ${a})`;
    },
  );

/** A copy of a chart that needs no style sheet. */
function standing(chart: SVGSVGElement): SVGSVGElement {
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

/** The names of the rows beside a chart, as texts of SVG at their places relative to it. */
const namesBeside = (chart: Element) => {
  const { left, top } = chart.getBoundingClientRect();
  return [...(chart.closest(".hsd-tl-chart")?.querySelectorAll(".hsd-tl-who") ?? [])].map(
    (name) => {
      const [box, style] = [name.getBoundingClientRect(), getComputedStyle(name)];
      const place = { x: box.left - left, y: box.bottom - top - 5, fill: plain(style.color) };
      const text = draw("text", {
        ...place,
        "font-family": style.fontFamily,
        "font-size": style.fontSize,
      });
      text.textContent = name.textContent;
      return text;
    },
  );
};

/** The charts that `page` shows as one SVG; "" without any. */
export function drawingOf(page: HTMLElement): string {
  const charts = [...page.querySelectorAll<SVGSVGElement>(`svg:not(${NO_CHARTS})`)].filter(
    (svg) => svg.checkVisibility() && svg.clientWidth > 100,
  );
  if (!charts.length) return "";
  let top = GAP;
  const parts = charts.map((chart) => {
    const [part, names] = [standing(chart), namesBeside(chart)];
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
  const whole = draw("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}` });
  const ground = getComputedStyle(document.body).backgroundColor;
  whole.append(
    draw("rect", { ...size, fill: /, 0\)$/.test(ground) ? "#ffffff" : plain(ground) }),
    ...parts,
  );
  return new XMLSerializer().serializeToString(whole);
}
