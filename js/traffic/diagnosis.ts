// The diagnosis of a server's record: the predicted values of other draft lengths above the
// acceptance rates by position, the lost time in one bar, and the settings to use.
import { html, nothing, svg } from "lit-html";
import { templated } from "../lib/widget";
import { type Columns, columnsOf } from "./columns";
import { type Part, partsOf, rowsBelow } from "./losses";
import { figuresTemplate, headTemplate, settingsTemplate } from "./parts";
import type { Diagnosis, Setting } from "./spec";

/** Widths of a chart in pixels: before it is attached to the page, at least, and at most. */
const WIDTH = { usual: 640, least: 280, most: 1400 };
const BAR = { high: 34, row: 20 };

/** Return the remark above a setting's value: whether it is the best or the present one. */
function roleOf({ best, present }: Setting): string {
  if (best) return present ? "now, best" : "best";
  return present ? "now" : "";
}
function classOf({ best, present, assumed }: Setting): string {
  if (best) return "hsd-tr-best";
  if (present) return "hsd-tr-now";
  return assumed ? "hsd-tr-assumed" : "hsd-tr-other";
}

function upperRow({ upper, isNarrow }: Columns, unit: string) {
  return upper.map(({ setting, x, y, wide, high, whisker }) => {
    const middle = x + wide / 2;
    const value = `${setting.value.toFixed(2)}${unit && !isNarrow ? ` ${unit}` : ""}`;
    const role = roleOf(setting);
    const above = whisker ? Math.min(y, whisker.high) : y;
    const ends = whisker
      ? svg`<path class="hsd-tr-whisker" d=${`M${middle} ${whisker.low}V${whisker.high}`}></path>`
      : nothing;
    return svg`<rect class=${classOf(setting)} x=${x} y=${y} width=${wide} height=${high}
        rx="2"></rect>${ends}
      <text class=${role ? "hsd-tr-strong" : "hsd-tr-value"} x=${middle} y=${above - 7}
        text-anchor="middle">${value}</text>
      ${
        role
          ? svg`<text class="hsd-tr-strong" x=${middle} y=${above - 24}
            text-anchor="middle">${role}</text>`
          : nothing
      }`;
  });
}

const lowerRow = ({ lower }: Columns) =>
  lower.map(
    ({ rate, x, y, wide, high, kept }) => svg`<rect
      class=${kept ? "hsd-tr-kept" : "hsd-tr-other"} x=${x} y=${y} width=${wide}
      height=${Math.max(1, high)} rx="2"></rect>
    <text class="hsd-tr-value" x=${x + wide / 2} y=${y - 6}
      text-anchor="middle">${Math.round(100 * rate)}${wide > 30 ? " %" : ""}</text>`,
  );

/** The names of the rows, in the gutter. */
function gutterTemplate(c: Columns, measure: string) {
  const name = (y: number, lines: string[]) =>
    lines.map((words, k) => svg`<text class="hsd-tr-name" x="0" y=${y + 16 * k}>${words}</text>`);
  const upper = c.isNarrow ? measure.split(" ") : [measure];
  const lower = c.isNarrow ? ["accepted"] : ["accepted at", "position"];
  const plain = c.isNarrow ? "plain" : "plain decoding";
  return svg`${c.upper.length ? name(14, upper) : nothing}
    ${
      c.plainY === null
        ? nothing
        : svg`<text class="hsd-tr-value" x="0" y=${c.plainY + 4}>${plain} 1 ×</text>`
    }
    ${name(c.axisY, [c.isNarrow ? "tokens" : "draft tokens"])}
    ${c.lower.length ? name(c.axisY + 34, lower) : nothing}`;
}

/** Plain decoding as a line over the bars. */
const plainLine = ({ gutter, width, plainY }: Columns) =>
  plainY === null
    ? nothing
    : svg`<line class="hsd-tr-plain" x1=${gutter} x2=${width} y1=${plainY} y2=${plainY}></line>`;

/** Describe the chart for screen readers. */
function chartText({ settings, acceptance, measure }: Diagnosis): string {
  const values = settings.map(({ tokens, value }) => `${tokens}: ${value.toFixed(2)}`).join(", ");
  const rates = acceptance.map((rate, k) => `${k + 1}: ${Math.round(100 * rate)} %`).join(", ");
  const first = values ? `${measure} by draft tokens: ${values}. ` : "";
  return `${first}${rates ? `Accepted by position: ${rates}.` : ""}`;
}

function chartTemplate(spec: Diagnosis, width: number) {
  const { settings, acceptance, measure, unit } = spec;
  if (!settings.length && !acceptance.length) return nothing;
  const c = columnsOf(settings, acceptance, unit === "×", width);
  const numbers = c.axis.map(
    ({ tokens, x }) =>
      svg`<text class="hsd-tr-strong" x=${x} y=${c.axisY} text-anchor="middle">${tokens}</text>`,
  );
  const foot = (y: number) =>
    svg`<line class="hsd-tr-foot" x1=${c.gutter} x2=${c.width} y1=${y} y2=${y}></line>`;
  return html`<svg
    class="hsd-tr-chart"
    width=${c.width}
    height=${c.height}
    viewBox="0 0 ${c.width} ${c.height}"
    role="img"
    aria-label=${chartText(spec)}
  >
    ${gutterTemplate(c, measure)}${upperRow(c, unit)}${plainLine(c)}${lowerRow(c)}${numbers}
    ${c.upper.length ? foot(c.feet.upper) : nothing}${c.lower.length ? foot(c.feet.lower) : nothing}
  </svg>`;
}

/** A label below the bar, to the left of the line from its part. */
function below({ x, wide, words, row }: Part) {
  const middle = x + wide / 2;
  const y = BAR.high + 16 + BAR.row * row;
  return svg`<path class="hsd-tr-leader" d=${`M${middle} ${BAR.high}V${y - 4}h-5`}></path>
    <text class="hsd-tr-value" x=${middle - 9} y=${y} text-anchor="end">${words}</text>`;
}

/** The bar of lost time by cause. */
function lossTemplate({ losses, ideal, figure }: Diagnosis, width: number) {
  if (!losses.length) return nothing;
  const parts = partsOf(losses, width);
  const height = BAR.high + BAR.row * rowsBelow(parts) + 2;
  const from =
    ideal === null ? "" : ` from ${ideal.toFixed(0)} × (all accepted, at no cost) to ${figure}`;
  return html`<section class="hsd-tr-loss">
    <h4>What is lost${from}</h4>
    <svg
      width=${width}
      height=${height}
      viewBox="0 0 ${width} ${height}"
      role="img"
      aria-label=${parts.map(({ words }) => words).join("; ")}
    >
      ${parts.map(
        (part, k) => svg`<g class="hsd-tr-part" data-rank=${k}><rect x=${part.x} y="0"
          width=${part.wide} height=${BAR.high}></rect>${
            part.row < 0
              ? svg`<text x=${part.x + 9} y=${BAR.high / 2 + 5}>${part.words}</text>`
              : nothing
          }</g>${part.row < 0 ? nothing : below(part)}`,
      )}
    </svg>
  </section>`;
}

export default templated<{ spec: Diagnosis }>(
  { class: "hsd-latency hsd-tr", label: "What limits a server" },
  (get, _, root) => {
    const spec = get("spec");
    const room = Math.min(WIDTH.most, root.clientWidth || WIDTH.usual);
    const width = Math.max(WIDTH.least, room);
    return html`${headTemplate(spec)} ${chartTemplate(spec, width)} ${lossTemplate(spec, width)}
    ${settingsTemplate(spec.pasted)} ${figuresTemplate(spec)}`;
  },
);
