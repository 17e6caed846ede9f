// "What if" for one draft model: sliders for acceptance and costs, and the speed-up over plain
// decoding by lookahead (law.ts).
import { html, nothing, svg } from "lit-html";
import { axisY, type Frame, frameOf } from "../lib/chart";
import { menu, slider } from "../lib/fields";
import { templated } from "../lib/widget";
import {
  bestOf,
  type Costs,
  LOOKAHEADS,
  leastAcceptance,
  MAX_LOOKAHEAD,
  speedOf,
  tokensOf,
} from "./law";

type Setting = keyof Costs | "lookahead";
type Settings = Record<Setting, number>;
/** Values of a drafter, and its measured mean lookahead and speed. */
type Preset = Costs & { name: string; measured?: [lookahead: number, speed: number] };
type Traits = Settings & {
  /** Calibrated draft models, or a run. */
  presets: Preset[];
  /** Origin of the presets. */
  source: string;
};
type SetTraits = (values: Partial<Traits>) => void;

interface Slider {
  name: Setting;
  words: string;
  from: number;
  to: number;
  step: number;
  write(value: number): string;
}
const SLIDERS: Slider[] = [
  {
    name: "acceptance",
    words: "Acceptance α by the target",
    from: 0,
    to: 0.99,
    step: 0.01,
    write: (value) => `${Math.round(100 * value)}%`,
  },
  {
    name: "cost",
    words: "Cost c of a draft token, in target passes",
    from: 0,
    to: 1,
    step: 0.005,
    write: (value) => value.toFixed(3),
  },
  {
    name: "lookahead",
    words: "Lookahead γ, tokens",
    from: 1,
    to: MAX_LOOKAHEAD,
    step: 1,
    write: String,
  },
  {
    name: "slope",
    words: "Cost b of a verified token, in target passes",
    from: 0,
    to: 0.5,
    step: 0.01,
    write: (value) => value.toFixed(2),
  },
];
const BOX = { height: 258, left: 44, right: 44, top: 24, bottom: 40 };
const WIDTH = 620;
/** Width from which each lookahead is numbered, in pixels. */
const ROOMY = 400;

const speedAt = ({ acceptance, cost, slope }: Costs, lookahead: number) =>
  speedOf(acceptance, cost, slope, lookahead);
const timesText = (settings: Settings, lookahead: number) =>
  `${speedAt(settings, lookahead).toFixed(2)} ×`;

/** Describe the best lookahead. */
function adviceOf(settings: Settings): string {
  const best = bestOf(settings);
  if (speedAt(settings, best) <= 1) return "No lookahead pays.";
  if (best === settings.lookahead) return "This is the best lookahead.";
  return `Best: ${best}, ${timesText(settings, best)}.`;
}
/** Describe the acceptance from which drafting pays off at these costs. */
function payText(settings: Settings): string {
  const least = leastAcceptance(settings);
  if (least === undefined) return "No acceptance pays.";
  return `Drafts pay from an acceptance of ${least}%.`;
}

const ownOf = (presets: readonly Preset[], { acceptance, cost, slope }: Costs) =>
  presets.find((p) => p.acceptance === acceptance && p.cost === cost && p.slope === slope);

/** The menu of calibrated draft models. */
function presetMenu(presets: readonly Preset[], settings: Settings, put: SetTraits) {
  if (!presets.length) return nothing;
  const names = [["", "custom"], ...presets.map(({ name }) => [name, name])];
  const choose = (chosen: string) => {
    const preset = presets.find(({ name }) => name === chosen);
    if (!preset) return;
    const { acceptance, cost, slope } = preset;
    put({ acceptance, cost, slope });
  };
  const presetName = ownOf(presets, settings)?.name ?? "";
  return html`<label>Drafter${menu(names, presetName, choose)}</label>`;
}

function sliderTemplate(
  { name, words, from, to, step, write }: Slider,
  value: number,
  put: SetTraits,
) {
  return html`<label
    >${words}<span class="hsd-wi-slide"
      >${slider(from, to, step, value, (v) => put({ [name]: v }))}<output
        >${write(value)}</output
      ></span
    ></label
  >`;
}

/** The point of a lookahead: large for the selected one, a ring for the best one. */
function dot(settings: Settings, best: number, f: Frame, lookahead: number) {
  const isChosen = lookahead === settings.lookahead;
  const isBest = lookahead === best;
  const x = f.x(lookahead - 0.5);
  const number = f.width > ROOMY || lookahead % 2 ? lookahead : "";
  let kind = "hsd-wi-dot";
  if (isChosen) kind = "hsd-wi-here";
  else if (isBest) kind = "hsd-wi-best";
  const title = `Lookahead ${lookahead}: ${timesText(settings, lookahead)}`;
  return svg`<circle class=${kind} cx=${x} cy=${f.y(speedAt(settings, lookahead))}
    r=${isChosen || isBest ? 6 : 3}><title>${title}</title></circle>
      <text class="hsd-tick" x=${x} y=${f.foot + 16}
        text-anchor="middle">${number}</text>`;
}

/** The picture of the speed-up over plain decoding by lookahead; `measured`: a run's own. */
function picture(settings: Settings, measured: Preset["measured"], room: number) {
  const width = Math.min(WIDTH, room || WIDTH);
  const speeds = LOOKAHEADS.map((lookahead) => speedAt(settings, lookahead));
  const most = Math.max(1.25, ...speeds, measured?.[1] ?? 0);
  const f = frameOf({ ...BOX, width }, MAX_LOOKAHEAD, most * 1.1);
  const best = bestOf(settings);
  const points = speeds.map((speed, k) => `${f.x(k + 0.5)} ${f.y(speed)}`);
  return html`<svg
    class="hsd-wi-plot"
    viewBox="0 0 ${f.width} ${f.height}"
    role="img"
    aria-label="Speed over plain decoding by lookahead"
  >
    ${axisY(f, 5, (v) => String(Number(v.toFixed(2))), "speed, plain = 1")}
    <line class="hsd-wi-plain" x1=${f.left} x2=${f.end} y1=${f.y(1)} y2=${f.y(1)}></line>
    <text class="hsd-tick" x=${f.end + 6} y=${f.y(1) + 4}>plain</text>
    <path class="hsd-wi-line" d=${`M${points.join("L")}`}></path>
    ${
      measured
        ? svg`<path class="hsd-wi-measured"
            d=${`M${f.x(measured[0] - 0.5)} ${f.y(measured[1]) - 10}l10 10l-10 10l-10-10z`}></path>`
        : nothing
    }
    ${LOOKAHEADS.map((lookahead) => dot(settings, best, f, lookahead))}
    <text class="hsd-axis" x=${(f.left + f.end) / 2} y=${f.height - 6} text-anchor="middle">
      lookahead, tokens
    </text>
  </svg>`;
}

export default templated<Traits>(
  { class: "hsd-latency hsd-what-if", label: "What if" },
  (get, put, root) => {
    const lookahead = get("lookahead");
    const acceptance = get("acceptance");
    const settings = { acceptance, cost: get("cost"), slope: get("slope"), lookahead };
    const presets = get("presets") ?? [];
    const tokens = tokensOf(acceptance, lookahead).toFixed(2);
    const own = ownOf(presets, settings);
    const source = own ? get("source") : "Latency law; nothing was measured.";
    return html`<h3>What if: longer, better or cheaper drafts</h3>
      <p aria-live="polite">
        <strong>${timesText(settings, lookahead)}</strong> plain decoding at lookahead
        ${lookahead}, ${tokens} tokens per pass. ${adviceOf(settings)} ${payText(settings)}
      </p>
      <div class="hsd-wi-body">
        <div class="hsd-wi-fields">
          ${presetMenu(presets, settings, put)}
          ${SLIDERS.map((slider) => sliderTemplate(slider, settings[slider.name], put))}
        </div>
        ${picture(settings, own?.measured, root.clientWidth)}
      </div>
      <p class="hsd-source">Large dot: your setting; ring: the best. ${source}</p>`;
  },
);
