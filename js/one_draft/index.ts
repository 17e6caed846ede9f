// What if: one draft model. Sliders of acceptance and costs, and the speed over plain decoding by lookahead. The law of one draft:
// (gamma c_draft + c_verify(gamma + 1)) over the tokens of a round, in forward passes of the target.
import { html, nothing, svg } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { templated } from "../lib/template";
import { ticks } from "../staircase/stairs";

/** A calibrated draft model. */
export interface Calibrated {
  name: string;
  acceptance: number;
  cost: number;
  slope: number;
  lookahead: number | null;
}
interface Traits {
  acceptance: number;
  cost: number;
  lookahead: number;
  slope: number;
  presets: Calibrated[];
  /** Where the presets come from. */
  source: string;
}
const MOST = 16;

/** Emitted tokens per round of a draft of n tokens. */
export const tokensOf = (acceptance: number, n: number) =>
  acceptance >= 1 ? n + 1 : (1 - acceptance ** (n + 1)) / (1 - acceptance);
/** Speed over plain decoding for a lookahead. */
export const speedOf = (acceptance: number, cost: number, slope: number, n: number) =>
  tokensOf(acceptance, n) / (n * cost + 1 + slope * n);

const SLIDERS = [
  ["acceptance", "Acceptance by the target", 0, 0.99, 0.01, (v: number) => `${Math.round(100 * v)}%`],
  ["cost", "Cost of the draft model per token, in target forward passes", 0, 1, 0.005, (v: number) => v.toFixed(3)],
  ["lookahead", "Lookahead, tokens", 1, MOST, 1, (v: number) => String(v)],
  ["slope", "Added cost per verified token, in forward passes", 0, 0.5, 0.01, (v: number) => v.toFixed(2)],
] as const;
const BOX = { width: 620, height: 250, left: 44, right: 16, top: 16, bottom: 40 };

/** What the settings mean, as text. */
export function wordsOf(acceptance: number, cost: number, slope: number, lookahead: number): string {
  const speed = (n: number) => speedOf(acceptance, cost, slope, n);
  const all = Array.from({ length: MOST }, (_, k) => k + 1);
  const best = all.reduce((a, b) => (speed(b) > speed(a) ? b : a));
  const times = (n: number) => `${speed(n).toFixed(2)} times the speed of plain decoding`;
  const said = [
    `Lookahead ${lookahead}: ${tokensOf(acceptance, lookahead).toFixed(2)} tokens per target forward pass, ${times(lookahead)}.`,
  ];
  if (speed(best) <= 1) said.push("No lookahead pays off: remove the draft model.");
  else said.push(best === lookahead ? "This is the best lookahead." : `Best lookahead: ${best}, ${times(best)}.`);
  const rates = Array.from({ length: 200 }, (_, k) => k / 200);
  const least = rates.find((rate) => all.some((n) => speedOf(rate, cost, slope, n) > 1));
  said.push(
    least === undefined
      ? "At this cost no acceptance pays off."
      : `At this cost a draft pays off from an acceptance of ${Math.round(100 * least)}%.`,
  );
  return said.join(" ");
}

export default templated<Traits>(
  {
    tag: "section",
    class: "hsd-latency hsd-what-if",
    events: "change:acceptance change:cost change:lookahead change:slope change:presets change:source",
    behind: "--paper",
  },
  ({ model, root }) => {
    root.setAttribute("aria-label", "What if: one draft model");
    const put = (values: Partial<Traits>) => {
      for (const [name, value] of Object.entries(values)) model.set(name as keyof Traits, value as never);
      model.save_changes();
    };
    return () => {
      const [a, c, g, s] = [model.get("acceptance"), model.get("cost"), model.get("lookahead"), model.get("slope")];
      const speed = (n: number) => speedOf(a, c, s, n);
      const all = Array.from({ length: MOST }, (_, k) => k + 1);
      const best = all.reduce((x, y) => (speed(y) > speed(x) ? y : x));
      const top = Math.max(1.25, ...all.map(speed)) * 1.1;
      const x = (n: number) => BOX.left + ((n - 0.5) / MOST) * (BOX.width - BOX.left - BOX.right);
      const y = (v: number) => BOX.height - BOX.bottom - (v / top) * (BOX.height - BOX.top - BOX.bottom);
      const presets = model.get("presets") ?? [];
      const own = presets.find((p) => p.acceptance === a && p.cost === c && p.slope === s);
      const choose = (e: { target: HTMLSelectElement }) => {
        const preset = presets.find((p) => p.name === e.target.value);
        if (!preset) return;
        const { acceptance, cost, slope, lookahead } = preset;
        put({ acceptance, cost, slope, ...(lookahead ? { lookahead } : {}) });
      };
      const bar = (n: number) =>
        svg`<g class="hsd-wi-point" @click=${() => put({ lookahead: n })}><title>Lookahead ${n}: ${speed(n).toFixed(2)} times the speed of plain decoding</title>
          <rect class="hsd-hit" x=${x(n) - 18} y=${BOX.top} width="36" height=${BOX.height - BOX.top - BOX.bottom}></rect>
          <circle class=${n === g ? "hsd-wi-here" : n === best ? "hsd-wi-best" : "hsd-wi-dot"} cx=${x(n)} cy=${y(speed(n))} r=${n === g || n === best ? 6 : 3}></circle>
          <text class="hsd-tick" x=${x(n)} y=${BOX.height - BOX.bottom + 16} text-anchor="middle">${n}</text></g>`;
      return html`<div class="hsd-wi-fields">
          ${
            presets.length
              ? html`<label>Draft model<select @change=${choose}>
                  <option value="" .selected=${live(!own)}>custom</option>
                  ${presets.map((p) => html`<option value=${p.name} .selected=${live(p === own)}>${p.name}</option>`)}
                </select></label>`
              : nothing
          }
          ${SLIDERS.map(
            ([name, words, min, max, step, write]) =>
              html`<label>${words}<span class="hsd-wi-slide"><input type="range" min=${min} max=${max} step=${step}
                .value=${live(String(model.get(name)))}
                @input=${(e: { target: HTMLInputElement }) => put({ [name]: Number(e.target.value) })}><output>${write(model.get(name))}</output></span></label>`,
          )}
        </div>
        <p class="hsd-wi-words" aria-live="polite"><strong>${speed(g).toFixed(2)} ×</strong> ${wordsOf(a, c, s, g)}</p>
        <svg class="hsd-wi-plot" viewBox="0 0 ${BOX.width} ${BOX.height}" role="img" aria-label="Speed over plain decoding by lookahead">
          ${ticks(top, 5).map(
            (v) =>
              svg`<line class="hsd-grid" x1=${BOX.left} x2=${BOX.width - BOX.right} y1=${y(v)} y2=${y(v)}></line><text class="hsd-tick" x=${BOX.left - 8} y=${y(v) + 4} text-anchor="end">${Number(v.toFixed(2))}</text>`,
          )}
          <line class="hsd-wi-plain" x1=${BOX.left} x2=${BOX.width - BOX.right} y1=${y(1)} y2=${y(1)}></line>
          <text class="hsd-tick" x=${BOX.width - BOX.right} y=${y(1) - 6} text-anchor="end">plain decoding</text>
          <path class="hsd-wi-line" d=${all.map((n, k) => `${k ? "L" : "M"}${x(n)} ${y(speed(n))}`).join("")}></path>
          ${all.map(bar)}
          <text class="hsd-axis" x=${(BOX.left + BOX.width) / 2} y=${BOX.height - 6} text-anchor="middle">lookahead, tokens · large dot: your setting; ring: the best</text>
        </svg>
        <p class="hsd-source">${own ? model.get("source") : "Latency law on the slider values; nothing was measured."}</p>`;
    };
  },
);
