// The scene "hierarchies and when they pay": stacks on the same prompt in this tab, and the cost of
// their rounds on a machine where verification is nearly free.
import { html, render } from "lit-html";
import { make } from "../lib/dom";
import { stackName } from "../lib/drafter_names";
import { type Article, inTurns, type Run, type SiteData, TURNS } from "./article";
import { elsewhere } from "./law";
import { opened, openScene, race, raceOf, sceneElement, tick, times } from "./parts";

const RACERS = [
  "db > target",
  "small:4 > target",
  "nano:4 > target",
  "db > small:4 > target",
  "nano:3 > small:6 > target",
  "db > nano:4 > small:7 > target",
];
const OPENING = ["db > target", "db > small:4 > target"];
/** Maximum number of stacks in a race, besides plain decoding. */
const MAX_STACKS = 2;
const HEADS = [
  "Stack",
  "Tokens/s",
  "Speed-up here",
  "On a GPU, predicted",
  "Tokens per target pass",
];

/** Speeds of the runs here and with the costs of `gpu`, relative to plain decoding. */
function speedTable(runs: ReadonlyMap<string, Run>, gpu: SiteData["gpu"]) {
  const here = ({ result }: Run) => result.metrics.tokens_per_second ?? 0;
  const there = ({ store }: Run) => store.tokens.length / elsewhere(store.calls, gpu.milliseconds);
  const plain = runs.get("target") as Run;
  const row = ([stack, run]: [string, Run]) =>
    html`<tr>
      <td>${stackName(stack)} <code class="note">${stack}</code></td>
      <td>${here(run).toFixed(0)}</td>
      <td>${times(here(run) / here(plain))}</td>
      <td>${times(there(run) / there(plain))}</td>
      <td>${Number(run.result.metrics.mean_acceptance_length).toFixed(2)}</td>
    </tr>`;
  return html`<table>
    <tr>
      ${HEADS.map((head) => html`<th>${head}</th>`)}
    </tr>
    ${[...runs].map(row)}
  </table>`;
}

function note(gpu: SiteData["gpu"]) {
  const models = Object.entries(gpu.models)
    .map(([name, model]) => `${model} for ${name}`)
    .join(", ");
  return html`<p class="note">
    Here: measured in this tab, the fastest of ${TURNS} runs each, in turns. On a GPU: the same
    forward passes at the predicted costs of ${gpu.words} (${models}), drafting from databases as
    measured here. Acceptance is that of the models of this tab; other models accept more or less.
  </p>`;
}

export function hierarchies(article: Article) {
  const { gpu } = article.data;
  const out = make("div");
  const chart = make("div");
  const names = ["plain", "databases", "both"].map((name) => `sampled/${name}`);
  const markOwn = opened(names, chart, (runs) => raceOf(article, chart, runs));
  openScene(sceneElement("hierarchies"), out, {
    controls: RACERS.map((stack) =>
      tick(
        "stack",
        stack,
        html`${stackName(stack)} <code class="note">${stack}</code>`,
        OPENING.includes(stack),
      ),
    ),
    button: "Race in this tab",
    async act(given, work) {
      const stacks = given.getAll("stack").map(String);
      if (stacks.length < 1 || stacks.length > MAX_STACKS)
        throw new Error("Choose one or two stacks; plain decoding races, too.");
      const runs = await inTurns(article, ["target", ...stacks], work);
      markOwn();
      race(article, chart, runs.values());
      render(html`${speedTable(runs, gpu)} ${note(gpu)}`, out);
    },
  });
  out.after(chart);
}
