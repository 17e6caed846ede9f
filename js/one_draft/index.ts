// What if: one draft model. Sliders of acceptance and costs, and the speed over plain decoding by
// lookahead. The law of one draft:
// (gamma c_draft + c_verify(gamma + 1)) over the tokens of a round, in forward passes of the
// target.
import { html, nothing, svg } from "lit-html";
import { axisY, frameOf } from "../lib/chart";
import { menu, slider } from "../lib/fields";
import { templated } from "../lib/widget";

type Traits = Record<"acceptance" | "cost" | "slope" | "lookahead", number> & {
  /** Calibrated draft models. */
  presets: ({ name: string } & Record<"acceptance" | "cost" | "slope", number>)[];
  /** Where the presets come from. */
  source: string;
};
const MOST = 16;
const ALL = Array.from({ length: MOST }, (_, k) => k + 1);
const SLIDERS = [
  [
    "acceptance",
    "Acceptance by the target",
    0,
    0.99,
    0.01,
    (v: number) => `${Math.round(100 * v)}%`,
  ],
  [
    "cost",
    "Cost of the draft model per token, in target forward passes",
    0,
    1,
    0.005,
    (v: number) => v.toFixed(3),
  ],
  ["lookahead", "Lookahead, tokens", 1, MOST, 1, (v: number) => String(v)],
  [
    "slope",
    "Added cost per verified token, in forward passes",
    0,
    0.5,
    0.01,
    (v: number) => v.toFixed(2),
  ],
] as const;
const BOX = { height: 250, left: 44, right: 16, top: 16, bottom: 40 };

/** Emitted tokens per round of a draft of n tokens. */
const tokensOf = (acceptance: number, n: number) =>
  acceptance >= 1 ? n + 1 : (1 - acceptance ** (n + 1)) / (1 - acceptance);
/** Speed over plain decoding for a lookahead. */
export const speedOf = (acceptance: number, cost: number, slope: number, n: number) =>
  tokensOf(acceptance, n) / (n * cost + 1 + slope * n);

export default templated<Traits>(
  { class: "hsd-latency hsd-what-if", label: "What if: one draft model" },
  (get, put, root) => {
    const a = get("acceptance");
    const c = get("cost");
    const chosen = get("lookahead");
    const s = get("slope");
    const speed = (n: number) => speedOf(a, c, s, n);
    const best = ALL.reduce((x, y) => (speed(y) > speed(x) ? y : x));
    const times = (n: number) => `${speed(n).toFixed(2)} times the speed of plain decoding`;
    const advice =
      speed(best) <= 1
        ? "No lookahead pays off: remove the draft model."
        : best === chosen
          ? "This is the best lookahead."
          : `Best lookahead: ${best}, ${times(best)}.`;
    const least = Array.from({ length: 100 }, (_, k) => k).find((r) =>
      ALL.some((n) => speedOf(r / 100, c, s, n) > 1),
    );
    const pays =
      least === undefined
        ? "At this cost no acceptance pays off."
        : `At this cost a draft pays off from an acceptance of ${least}%.`;
    const width = Math.min(620, root.clientWidth || 620);
    const f = frameOf({ ...BOX, width }, MOST, Math.max(1.25, ...ALL.map(speed)) * 1.1);
    const x = (n: number) => f.x(n - 0.5);
    const presets = get("presets") ?? [];
    const own = presets.find((p) => p.acceptance === a && p.cost === c && p.slope === s);
    const names = [["", "custom"], ...presets.map((p) => [p.name, p.name])];
    const choose = (name: string) => {
      const { name: _, ...values } = presets.find((p) => p.name === name) ?? presets[0];
      if (name) put(values);
    };
    const dot = (n: number) =>
      svg`<circle class=${n === chosen ? "hsd-wi-here" : n === best ? "hsd-wi-best" : "hsd-wi-dot"}
        cx=${x(n)} cy=${f.y(speed(n))}
        r=${n === chosen || n === best ? 6 : 3}><title>Lookahead ${n}: ${times(n)}</title></circle>
          <text class="hsd-tick" x=${x(n)} y=${f.foot + 16}
            text-anchor="middle">${width > 400 || n % 2 ? n : ""}</text>`;
    return html`<h3>What if: one draft model</h3>
      <div class="hsd-wi-body">
        <div>
          <p aria-live="polite">
            <strong>${speed(chosen).toFixed(2)} ×</strong> Lookahead ${chosen}:
            ${tokensOf(a, chosen).toFixed(2)} tokens per target forward pass, ${times(chosen)}.
            ${advice} ${pays}
          </p>
          <div class="hsd-wi-fields">
            ${
              presets.length
                ? html`<label>Draft model${menu(names, own?.name ?? "", choose)}</label>`
                : nothing
            }
            ${SLIDERS.map(
              ([name, words, min, max, step, write]) =>
                html`<label
                  >${words}<span class="hsd-wi-slide"
                    >${slider(min, max, step, get(name), (v) => put({ [name]: v }))}<output
                      >${write(get(name))}</output
                    ></span
                  ></label
                >`,
            )}
          </div>
        </div>
        <svg
          class="hsd-wi-plot"
          viewBox="0 0 ${f.width} ${f.height}"
          role="img"
          aria-label="Speed over plain decoding by lookahead"
        >
          ${axisY(f, 5, (v) => String(Number(v.toFixed(2))))}
          <line class="hsd-wi-plain" x1=${f.left} x2=${f.end} y1=${f.y(1)} y2=${f.y(1)}></line>
          <text class="hsd-tick" x=${f.end} y=${f.y(1) - 6} text-anchor="end">plain decoding</text>
          <path
            class="hsd-wi-line"
            d=${`M${ALL.map((n) => `${x(n)} ${f.y(speed(n))}`).join("L")}`}
          ></path>
          ${ALL.map(dot)}
          <text class="hsd-axis" x=${(f.left + f.end) / 2} y=${f.height - 6} text-anchor="middle">
            lookahead, tokens
          </text>
        </svg>
      </div>
      <p class="hsd-source">
        Large dot: your setting; ring: the best.
        ${own ? get("source") : "Latency law on the slider values; nothing was measured."}
      </p>`;
  },
);
