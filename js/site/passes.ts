// The scene "one pass, many tokens": the time of a forward pass by the number of tokens that it
// verifies.
import { html, render } from "lit-html";
import { make } from "../lib/dom";
import type { Article, SiteData } from "./article";
import { menu, openScene, sceneElement, times } from "./parts";

const MODELS = ["target", "small", "nano"];
const WIDTHS = [1, 2, 4, 8, 16];

/** Milliseconds of a pass by the number of tokens. */
type Times = Record<string, number>;

function cells(milliseconds: Times | null, width: number) {
  if (!milliseconds)
    return html`<td>–</td>
      <td>–</td>`;
  return html`<td>${milliseconds[width].toFixed(2)} ms</td>
    <td>${times(milliseconds[width] / milliseconds[1])}</td>`;
}

function table(here: Times | null, native: Times) {
  const row = (width: number) =>
    html`<tr>
      <td>${width}</td>
      ${cells(here, width)}${cells(native, width)}
    </tr>`;
  return html`<table>
    <tr>
      <th>Tokens</th>
      <th colspan="2">One pass in this tab</th>
      <th colspan="2">Native</th>
    </tr>
    ${WIDTHS.map(row)}
  </table>`;
}

/** The times of a model with an explanation; `here`: times measured in this tab; null: none yet. */
function passesTemplate({ native, gpu }: SiteData, model: string, here: Times | null) {
  const measured = here ?? native[model];
  const there = gpu.milliseconds[model];
  return html`${table(here, native[model])}
    <p>
      ${here ? "Here" : "Natively"}, a pass over 8 tokens costs ${times(measured[8] / measured[1])}
      a pass over one; eight passes one after the other cost 8.00 ×. On ${gpu.words} the ratio is
      ${times(there[7] / there[0])} for ${gpu.models[model]} (predicted).
    </p>
    <p class="note">
      Native: hsd-viz on one thread of an AMD EPYC with AVX-512, measured on a quiet machine.
    </p>`;
}

export function passes({ client, data }: Article) {
  const out = make("div");
  const show = (model: string, here: Times | null) =>
    render(passesTemplate(data, model, here), out);
  openScene(sceneElement("passes"), out, {
    controls: menu(
      "Model",
      "model",
      MODELS.map((name) => [name, name]),
    ),
    button: "Measure in this tab",
    async act(given, { signal, say }) {
      const model = String(given.get("model"));
      const progress = { stage: (text: string) => say(text) };
      show(model, await client.time(model, WIDTHS, progress, signal));
    },
  });
  show("target", null);
}
