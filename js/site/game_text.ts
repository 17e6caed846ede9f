// The first scene: a text of the game, as drafters wrote it in recorded runs, and as the visitor
// did.
import { html, render } from "lit-html";
import { playOf } from "../game/score";
import { make } from "../lib/dom";
import { stackName } from "../lib/drafter_names";
import { YOU } from "../lib/palette";
import type { Snapshot } from "../lib/run_data";
import type { Article } from "./article";
import { raceOf, sceneElement, views } from "./parts";
import { recording } from "./recordings";

/** The drafter that is shown before the visitor has played. */
const FIRST = "nano";
const PLAIN = "plain";

/**
 * Show a text of the game of this seed, with a menu of its drafters, and their race. Returns a
 * function that shows a run of the visitor, before the drafters of its text.
 */
export function gameText(article: Article, seed: number) {
  const { games, plays } = article.data;
  const controls = make("div", "controls");
  const out = make("div");
  const chart = make("div");
  sceneElement("same").replaceChildren(controls, out, chart);
  const group = views(article, "game", [["stream", out]]);
  /** The text that is shown; a text that arrives later than another one is not shown. */
  let shown = "";

  const show = async (name: string, own?: Snapshot) => {
    const game = games.find((one) => one.name === name) ?? games[0];
    if (!game) return;
    shown = game.name;
    const names = Object.keys(game.runs);
    const recorded = await Promise.all(names.map((player) => recording(game.runs[player])));
    if (shown !== game.name) return;
    const runs = new Map(names.map((player, k) => [player, recorded[k]]));
    if (own) runs.set(YOU, own);
    const first = own ? YOU : FIRST;
    const drafters = [...runs.keys()].filter((player) => player !== PLAIN);
    const choose = (player: string) => group().store.adopt(runs.get(player) ?? null);
    const option = (player: string) =>
      html`<option value=${player} ?selected=${player === first}>
        ${stackName(runs.get(player)?.meta.stack ?? player)}
      </option>`;
    const take = ({ target }: { target: HTMLSelectElement }) => choose(target.value);
    render(
      html`<label
        >Drafter
        <select @change=${take}>
          ${drafters.map(option)}
        </select></label
      >`,
      controls,
    );
    choose(first);
    raceOf(article, chart, recorded);
  };
  show(playOf(plays, seed)[0]).catch(reportError);
  return (own: Snapshot) => {
    const text = games.find(({ asked }) => own.prompt.startsWith(asked));
    if (text) show(text.name, own).catch(reportError);
  };
}
