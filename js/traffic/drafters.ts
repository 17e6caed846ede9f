// The replay of drafters on a log: tokens per pass and the predicted speed-up of each, with the
// line at which drafting breaks even.
import { html, nothing } from "lit-html";
import { stackName } from "../lib/drafter_names";
import { templated } from "../lib/widget";
import { figuresTemplate, headTemplate, settingsTemplate } from "./parts";
import { type Bar, type Row, scaled } from "./scales";
import type { Drafter, Replayed } from "./spec";

const css = (percent: number) => `${percent.toFixed(2)}%`;

function barTemplate({ end, low, high }: Bar, words: string, cls: string) {
  const whisker =
    low === null || high === null
      ? nothing
      : html`<i class="hsd-tr-range" .style=${`left: ${css(low)}; width: ${css(high - low)}`}></i>`;
  const after = Math.max(end, high ?? 0);
  return html`<span class="hsd-tr-bar"
    ><i class=${cls} .style=${`width: ${css(end)}`}></i>${whisker}<span
      .style=${`left: ${css(after)}`}
      >${words}</span
    ></span
  >`;
}

/** Format a speed-up, with a remark unless it certainly pays. */
function speedText({ speedup, pays }: Drafter): string {
  const times = `${speedup.value.toFixed(2)} ×`;
  if (pays === "yes") return times;
  return pays === "no" ? `${times} does not pay` : `${times} not certain`;
}

function rowTemplate({ drafter, tokens, speedup, pays }: Row) {
  const perPass = drafter.tokens.value.toFixed(2);
  const cls = pays ? "hsd-tr-best" : "hsd-tr-assumed";
  return html`<tr>
    <th scope="row">${stackName(`${drafter.name} > target`)} <code>${drafter.name}</code></th>
    <td>${barTemplate(tokens, perPass, "hsd-tr-tokens")}</td>
    <td>${barTemplate(speedup, speedText(drafter), cls)}</td>
  </tr>`;
}

export default templated<{ spec: Replayed }>(
  { class: "hsd-latency hsd-tr", label: "What drafters would bring" },
  (get) => {
    const spec = get("spec");
    const { rows, even } = scaled(spec.drafters);
    return html`${headTemplate(spec)}
      <table class="hsd-tr-drafters" .style=${`--even: ${css(even)}`}>
        <thead>
          <tr>
            <th scope="col">drafter</th>
            <th scope="col">tokens per pass</th>
            <th scope="col">predicted speed-up</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(rowTemplate)}
        </tbody>
        <tfoot>
          <tr>
            <td></td>
            <td></td>
            <td><span class="hsd-tr-even">pays from 1 ×</span></td>
          </tr>
        </tfoot>
      </table>
      ${settingsTemplate(spec.pasted)} ${figuresTemplate(spec)}`;
  },
);
