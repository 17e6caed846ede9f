// The page after the last text: the result over passes, over time with a price for each token, and
// the darts of a rejected word.
import { html, nothing } from "lit-html";
import { slider } from "../lib/fields";
import { type Acts, type Look, saysOf } from "./acts";
import { struckWords } from "./board";
import { playersOf } from "./play";
import { type Says, say } from "./says";
import { gainOf, perPass, tokensOf } from "./score";
import { costWords, named, scoreWords, timesWords } from "./sentences";
import type { Game } from "./state";

/** Two prices that are shown as the same share of a pass. */
const SAME = 0.005;

interface Button {
  /** Its class beside that of the first one. */
  kind: string;
  words: string;
  act(): void;
}

/** The result in one number, and those of the others. */
function outcome({ play, phase, price }: Game, says: Says) {
  const isTimed = phase === "time";
  const players = named(playersOf(play), says);
  const { passes } = players[0];
  const figure = isTimed ? `${gainOf(passes, price).toFixed(2)} ×` : perPass(passes).toFixed(1);
  const words = isTimed
    ? timesWords(players, price, says)
    : say(says.as_many, { score: scoreWords(players, says) });
  return html`<p class="hsd-gm-big hsd-number">
      <strong>${figure}</strong> ${isTimed ? says.of_plain : says.per_pass}
    </p>
    <div role="status">
      <p class="hsd-gm-verdict">${words}</p>
      ${isTimed ? html`<p class="hsd-gm-why">${costWords(players, price, says)}</p>` : nothing}
    </div>`;
}

/** What the stairs show. */
function caption({ play, morph }: Game, says: Says) {
  const tokens = Math.max(...playersOf(play).map(({ passes }) => tokensOf(passes)));
  return html`<p class="hsd-gm-asked">
    ${morph ? say(says.same_stairs, { tokens }) : says.legend}
  </p>`;
}

/** The slider for the price of one more token, and the way back to the measured one. */
function prices({ play, price, measured }: Game, says: Says, acts: Acts) {
  const { meta } = play.texts[0].plain;
  const share = say(says.of_a_pass, { share: (100 * price.more).toFixed(0) });
  const isMeasured = Math.abs(price.more - measured) < SAME;
  const source = isMeasured
    ? ` ${say(says.measured, { device: meta.device_name || says.a_cpu })}`
    : "";
  const back = html`<button type="button" @click=${() => acts.setPrice(measured)}>
    ${says.as_measured}
  </button>`;
  return html`<label class="hsd-gm-price"
      ><span>${says.price} <strong>${share}</strong>${source}</span
      >${slider(0, 1, 0.01, price.more, acts.setPrice)}<span class="hsd-gm-ends"
        ><span>${says.free}</span><span>${says.no_gain}</span></span
      ></label
    >
    ${isMeasured ? nothing : back}
    <p class="hsd-note">${says.medians}</p>`;
}

/** The next steps, the likeliest first. */
function buttonsOf({ phase, play }: Game, says: Says, acts: Acts, hasLink: boolean): Button[] {
  const buttons: Button[] = [];
  if (phase === "result")
    buttons.push({ kind: "hsd-gm-time", words: says.with_time, act: acts.showTime });
  if (phase === "time" && struckWords(play).length)
    buttons.push({ kind: "hsd-gm-exact", words: says.same_text, act: acts.showDarts });
  buttons.push(
    { kind: "hsd-gm-explore", words: says.explore, act: acts.explore },
    { kind: "", words: says.card, act: acts.saveCard },
    { kind: "", words: says.again, act: acts.restart },
  );
  if (hasLink) buttons.push({ kind: "", words: says.link, act: acts.copyLink });
  if (phase === "exact") buttons.push({ kind: "", words: says.to_times, act: acts.showTime });
  return buttons;
}

function buttonTemplate({ kind, words, act }: Button, place: number) {
  return html`<button type="button" class=${place ? kind : `hsd-primary ${kind}`} @click=${act}>
    ${words}
  </button>`;
}

/** The page of the results; `stairs` is their picture, `darts` the dart board. */
export function results(
  game: Game,
  look: Look,
  acts: Acts,
  { stairs, darts, hasLink }: { stairs: Element; darts: Element; hasLink: boolean },
) {
  const says = saysOf(look);
  const exact = html`<h3 class="hsd-gm-big" tabindex="-1">${says.is_same}</h3>
    <p class="hsd-gm-asked">${says.exact}</p>
    ${darts}`;
  const overStairs = html`${outcome(game, says)} ${caption(game, says)} ${stairs}`;
  return html`${game.phase === "exact" ? exact : overStairs}
    ${game.phase === "time" ? prices(game, says, acts) : nothing}
    <div class="hsd-gm-buttons">
      ${buttonsOf(game, says, acts, hasLink).map(buttonTemplate)}
      <span class="hsd-note" role="status">${game.note}</span>
    </div>`;
}
