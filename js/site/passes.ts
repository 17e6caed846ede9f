// The scene "one pass, many tokens": the time of a forward pass by the number of tokens that it
// verifies.
import { html, nothing, render } from "lit-html";
import { GPU_PRICE } from "../game/score";
import { onResize } from "../lib/chart";
import { make } from "../lib/dom";
import type { Article, SiteData } from "./article";
import { type Curve, costsPicture } from "./costs";
import { menu, openScene, sceneElement, times } from "./parts";

const MODELS = ["target", "small", "nano"];
const WIDTHS = [1, 2, 4, 8, 16];
/** The width of the pass that the sentence names. */
const NAMED = 8;
/** Pixels: the width of the picture where the page has none yet. */
const USUAL_WIDTH = 640;

/** Milliseconds of a pass by the number of tokens. */
type Times = Record<string, number>;

/** The costs of passes, in passes over one token. */
const costsOf = (name: string, kind: Curve["kind"], milliseconds: Times): Curve => ({
  name,
  kind,
  points: WIDTHS.map((width) => [width, milliseconds[width] / milliseconds[1]]),
});

/** What is known of a model: its predicted times on a GPU, measured ones, and those of this tab. */
interface Known {
  gpu: Times;
  native: Times;
  here: Times | null;
}

function knownOf({ native, gpu }: SiteData, model: string, here: Times | null): Known {
  const predicted = WIDTHS.map((width) => [width, gpu.milliseconds[model][width - 1]]);
  return { gpu: Object.fromEntries(predicted), native: native[model], here };
}

/** The curves of the picture. */
function curvesOf({ gpu, native, here }: Known): Curve[] {
  const oneByOne = Object.fromEntries(WIDTHS.map((width) => [width, width]));
  const curves = [
    costsOf("one by one", "limit", oneByOne),
    costsOf("CPU", "measured", native),
    costsOf("GPU", "predicted", gpu),
  ];
  return here ? [...curves, costsOf("this tab", "own", here)] : curves;
}

/** The numbers of the picture. */
function table({ gpu, native, here }: Known) {
  const columns: [string, Times][] = [
    ["CPU", native],
    ["GPU, predicted", gpu],
  ];
  if (here) columns.unshift(["This tab", here]);
  const cells = (milliseconds: Times, width: number) =>
    html`<td>${milliseconds[width].toFixed(2)} ms</td>
      <td>${times(milliseconds[width] / milliseconds[1])}</td>`;
  const row = (width: number) =>
    html`<tr>
      <td>${width}</td>
      ${columns.map(([, milliseconds]) => cells(milliseconds, width))}
    </tr>`;
  return html`<details class="more">
    <summary>The numbers</summary>
    <table>
      <tr>
        <th>Tokens</th>
        ${columns.map(([name]) => html`<th colspan="2">${name}</th>`)}
      </tr>
      ${WIDTHS.map(row)}
    </table>
  </details>`;
}

/** The picture of a model, what it says, and its numbers. */
function passesTemplate({ gpu }: SiteData, model: string, known: Known, width: number) {
  const cost = (milliseconds: Times) => times(milliseconds[NAMED] / milliseconds[1]);
  const { here } = known;
  const sentence = html`A pass over ${NAMED} tokens costs
    <b>${cost(known.native)}</b> a pass over one on a CPU${
      here ? html`, <b>${cost(here)}</b> in this tab` : nothing
    }, and <b>${cost(known.gpu)}</b> on a GPU. One by one, ${NAMED} tokens cost ${times(NAMED)}.`;
  return html`<figure>
      ${costsPicture(curvesOf(known), width)}
      <figcaption>${sentence}</figcaption>
    </figure>
    <p class="note">
      CPU: hsd-viz on one thread of an AMD EPYC with AVX-512, measured on a quiet machine. GPU:
      ${gpu.words}, ${gpu.models[model]}, predicted: reading the weights outlasts the arithmetic, so
      the line is flat. The game’s GPU is an H100 with a Llama of one billion weights, measured: up
      to ${NAMED} tokens, each one more costs ${Math.round(100 * GPU_PRICE)} % of a pass.
    </p>
    ${table(known)}`;
}

export function passes({ client, data }: Article) {
  const out = make("div");
  let model = "target";
  let here: Times | null = null;
  const paint = () => {
    const known = knownOf(data, model, here);
    render(passesTemplate(data, model, known, out.clientWidth || USUAL_WIDTH), out);
  };
  openScene(sceneElement("passes"), out, {
    controls: menu(
      "Model",
      "model",
      MODELS.map((name) => [name, name]),
    ),
    button: "Measure in this tab",
    async act(given, { signal, say }) {
      const chosen = String(given.get("model"));
      const progress = { stage: (text: string) => say(text) };
      here = await client.time(chosen, WIDTHS, progress, signal);
      model = chosen;
      paint();
    },
  });
  paint();
  onResize(out, paint);
}
