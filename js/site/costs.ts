// The picture of the scene "one pass, many tokens": the cost of a pass over its width, as lines
// that are labelled at their ends.
import { html, svg } from "lit-html";
import { frameOf, spread } from "../lib/chart";

/** The costs of passes of a machine. */
export interface Curve {
  name: string;
  /** How it is drawn; `own` is what this tab measured, `limit` the cost without any saving. */
  kind: "limit" | "measured" | "predicted" | "own";
  /** Tokens in the pass, and its cost in passes over one token. */
  points: [tokens: number, cost: number][];
}

/** Pixels: below this width, the picture is drawn for a phone. */
const NARROW = 560;
/** Pixels between the names of lines. */
const GAP = 34;

function curveLine({ x, y }: ReturnType<typeof frameOf>, { kind, points }: Curve) {
  const path = points.map(([tokens, cost]) => `${x(tokens)} ${y(cost)}`).join("L");
  const dot = ([tokens, cost]: [number, number], place: number) =>
    svg`<circle r="4" cx=${x(tokens)} cy=${y(cost)} .style=${`--place: ${place}`}></circle>`;
  const dots = kind === "own" || kind === "measured" ? points.map(dot) : [];
  return svg`<g class="cost-${kind}"><path pathLength="1" d="M${path}"></path>${dots}</g>`;
}

/** Draw the curves; `width` is that of the picture in pixels. */
export function costsPicture(curves: Curve[], width: number) {
  const isNarrow = width < NARROW;
  const widths = curves[0].points.map(([tokens]) => tokens);
  const widest = Math.max(...widths);
  const highest = Math.max(...curves.flatMap(({ points }) => points.map(([, cost]) => cost)));
  const size = {
    width,
    height: isNarrow ? 300 : 380,
    left: 30,
    right: isNarrow ? 96 : 116,
    top: 30,
    bottom: 40,
  };
  const f = frameOf(size, widest, highest);
  // The lines of 1 and 2 would be too close for their numbers.
  const levels = widths
    .filter((cost) => cost !== 2)
    .map(
      (cost) => svg`<line x1=${f.left} x2=${f.end} y1=${f.y(cost)} y2=${f.y(cost)}></line>
      <text x=${f.left - 8} y=${f.y(cost) + 4} text-anchor="end">${cost}</text>`,
    );
  const numbers = widths.map(
    (tokens) => svg`<text x=${f.x(tokens)} y=${f.foot + 18} text-anchor="middle">${tokens}</text>`,
  );
  const ends = curves.map(({ name, kind, points }) => {
    const [tokens, cost] = points[points.length - 1];
    return { name, kind, cost, x: f.x(tokens) + 10, y: f.y(cost) + 1 };
  });
  const names = spread(ends, GAP).map(({ name, kind, cost, x, y }) => {
    const figure = svg`<tspan x=${x} dy="16">${cost.toFixed(1)} ×</tspan>`;
    return svg`<text class="cost-${kind}" x=${x} y=${y}>${name}${figure}</text>`;
  });
  const words = curves.map(({ name, points }) => {
    const [tokens, cost] = points[points.length - 1];
    return `${name}: ${cost.toFixed(1)} passes for ${tokens} tokens`;
  });
  return html`<svg
    class="costs"
    role="img"
    aria-label=${`Cost of a pass over many tokens. ${words.join("; ")}.`}
    width=${width}
    height=${size.height}
  >
    <g class="cost-axes">
      ${levels}${numbers}
      <text x="0" y="12">cost, in passes over one token</text>
      <text x=${f.end} y=${size.height - 4} text-anchor="end">tokens in the pass</text>
    </g>
    ${curves.map((curve) => curveLine(f, curve))}${names}
  </svg>`;
}
