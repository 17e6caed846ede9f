// The first scene: a text of the game, as drafters wrote it in recorded runs.
import { html, render } from "lit-html";
import { playOf } from "../game/score";
import { make } from "../lib/dom";
import { stackName } from "../lib/drafter_names";
import { recording } from "../tab/host";
import type { Article } from "./article";
import { raceOf, sceneElement, views } from "./parts";

/** The drafter that is shown first. */
const FIRST = "nano";

/** Show a text of the game of this seed, with a menu of its drafters, and their race. */
export async function gameText(article: Article, seed: number) {
  const { games, plays } = article.data;
  const [first] = playOf(plays, seed);
  const game = games.find(({ name }) => name === first) ?? games[0];
  if (!game) return;
  const names = Object.keys(game.runs);
  const runs = await Promise.all(names.map((name) => recording(game.runs[name])));
  const controls = make("div", "controls");
  const out = make("div");
  const chart = make("div");
  sceneElement("same").replaceChildren(controls, out, chart);
  const group = views(article, "game", [["stream", out]]);
  const show = (name: string) => group().store.adopt(runs[names.indexOf(name)]);
  const option = (name: string) =>
    html`<option value=${name} ?selected=${name === FIRST}>
      ${stackName(runs[names.indexOf(name)].meta.stack)}
    </option>`;
  const drafters = names.filter((name) => name !== "plain");
  const take = ({ target }: { target: HTMLSelectElement }) => show(target.value);
  render(
    html`<label
      >Drafter
      <select @change=${take}>
        ${drafters.map(option)}
      </select></label
    >`,
    controls,
  );
  show(FIRST);
  raceOf(article, chart, runs);
}
