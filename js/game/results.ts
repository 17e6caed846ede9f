// The page after the last text: the result over passes, over time with a price for each token, and
// the darts of a rejected word.
import { html, nothing } from "lit-html";
import { slider } from "../lib/fields";
import { say } from "../lib/say";
import { type Acts, type Look, saysOf } from "./acts";
import { struckWords } from "./board";
import { playersOf } from "./play";
import type { Says } from "./says";
import { filledIn, GPU_PRICE, isSamePrice, keptPerPass, tokensOf } from "./score";
import {
  filledPerPass,
  filledWords,
  named,
  rivalWords,
  shownGain,
  timeWords,
  verdictOf,
} from "./sentences";
import { standings } from "./standings";
import type { Game } from "./state";

interface Button {
  /** Its class. */
  kind: string;
  words: string;
  act(): void;
}

/** What else there is on the page: elements, and what it can do. */
interface Places {
  stairs: Element;
  darts: Element;
  hasLink: boolean;
  hasExplorer: boolean;
}

const percent = (share: number) => (100 * share).toFixed(0);

/** What the number is, what was filled in, and a price that was not measured. */
function labelOf({ play, phase, price, measured }: Game, says: Says) {
  const [you] = playersOf(play);
  if (phase !== "time") return [says.per_pass, filledPerPass(you, says)];
  if (!isSamePrice(price.more, measured))
    return [says.of_plain, say(says.if_price, { share: percent(price.more) })];
  const tokens = tokensOf(you.passes);
  const filled = filledIn(you.passes);
  return [says.of_plain, filled ? say(says.with_filled, { filled, tokens }) : ""];
}

/** The result in one number, and what it says. */
function outcome(game: Game, says: Says) {
  const { play, phase, price } = game;
  const isTimed = phase === "time";
  const players = named(playersOf(play), says);
  const [you] = players;
  const figure = isTimed ? `${shownGain(you, price)} ×` : keptPerPass(you.passes).toFixed(1);
  const why = [filledWords(you, says), rivalWords(players, says)].join(" ");
  const words = isTimed ? timeWords(players, price, says) : { head: verdictOf(players, says), why };
  const [label, share] = labelOf(game, says);
  return html`<p class="hsd-gm-big hsd-number">
      <strong>${figure}</strong> ${label}
      ${share ? html`<span class="hsd-gm-share">${share}</span>` : nothing}
    </p>
    <div class="hsd-gm-outcome" role="status">
      <p class="hsd-gm-verdict">${words.head}</p>
      <p class="hsd-gm-lesson">${words.why}</p>
    </div>`;
}

/** A price of the slider that was measured. */
function preset(words: string, more: number, price: number, acts: Acts) {
  const share = percent(more);
  return html`<button
    type="button"
    aria-pressed=${isSamePrice(price, more) ? "true" : "false"}
    @click=${() => acts.setPrice(more)}
  >
    ${say(words, { share })}
  </button>`;
}

/** The slider for the price of one more token, and the prices that were measured. */
function prices({ play, price, measured }: Game, says: Says, acts: Acts) {
  const { meta } = play.texts[0].plain;
  const share = say(says.of_a_pass, { share: percent(price.more) });
  return html`<div class="hsd-gm-prices">
    <label class="hsd-gm-price"
      ><span>${says.price} <strong>${share}</strong></span
      >${slider(0, 1, 0.01, price.more, acts.setPrice)}<span class="hsd-gm-ends"
        ><span>${says.free}</span><span>${says.no_gain}</span></span
      ></label
    >
    <div class="hsd-gm-presets">
      ${preset(says.on_gpu, GPU_PRICE, price.more, acts)}
      ${preset(says.on_cpu, measured, price.more, acts)}
    </div>
    <p class="hsd-note">${say(says.sources, { device: meta.device_name || says.a_cpu })}</p>
  </div>`;
}

/** The next step; null: there is none but the explorer. */
function nextStep({ phase, play }: Game, says: Says, acts: Acts): Button | null {
  if (phase === "result") return { kind: "hsd-gm-time", words: says.with_time, act: acts.showTime };
  if (phase === "time" && struckWords(play).length)
    return { kind: "hsd-gm-exact", words: says.same_text, act: acts.showDarts };
  return null;
}

/** Steps beside the next one: the game in the explorer, sharing it, and playing it again. */
function sideSteps({ phase }: Game, says: Says, acts: Acts, places: Places): Button[] {
  const { hasExplorer, hasLink } = places;
  const steps: Button[] = [];
  if (hasExplorer) steps.push({ kind: "hsd-gm-explore", words: says.explore, act: acts.explore });
  steps.push({ kind: "", words: says.card, act: acts.saveCard });
  if (hasLink) steps.push({ kind: "", words: says.link, act: acts.copyLink });
  steps.push({ kind: "", words: says.again, act: acts.restart });
  if (phase === "exact") steps.push({ kind: "", words: says.to_times, act: acts.showTime });
  return steps;
}

function buttonTemplate({ kind, words, act }: Button, isFirst: boolean) {
  return html`<button
    type="button"
    class=${isFirst ? `hsd-primary ${kind}` : kind}
    @click=${act}
  >
    ${words}
  </button>`;
}

/** The buttons: the next step, then those beside it; with the darts the next step is a throw. */
function steps(game: Game, says: Says, acts: Acts, places: Places) {
  const first = nextStep(game, says, acts);
  const beside = sideSteps(game, says, acts, places);
  const isLast = !first && game.phase !== "exact";
  return html`<div class="hsd-gm-buttons">
      ${first ? buttonTemplate(first, true) : nothing}
      ${beside.map((step, k) => buttonTemplate(step, isLast && k === 0))}
      <span class="hsd-note" role="status">${game.note}</span>
    </div>
    ${places.hasExplorer ? html`<p class="hsd-note">${says.bridge}</p>` : nothing}`;
}

/** The stairs over time, as many tokens for all. */
function caption({ play, morph }: Game, says: Says) {
  if (!morph) return nothing;
  const tokens = Math.max(...playersOf(play).map(({ passes }) => tokensOf(passes)));
  return html`<p class="hsd-note hsd-gm-caption">${say(says.same_stairs, { tokens })}</p>`;
}

/** The page of the results. */
export function results(game: Game, look: Look, acts: Acts, places: Places) {
  const says = saysOf(look);
  const { play, phase } = game;
  if (phase === "exact") {
    const [{ word }] = struckWords(play);
    return html`<h3 class="hsd-gm-question">${say(says.is_same, { word })}</h3>
      <p class="hsd-gm-premise">${says.exact}</p>
      ${places.darts} ${steps(game, says, acts, places)}`;
  }
  return html`${outcome(game, says)} ${standings(game, says, look.family)}
    ${caption(game, says)} ${places.stairs}
    ${phase === "time" ? prices(game, says, acts) : nothing}
    ${steps(game, says, acts, places)}`;
}
