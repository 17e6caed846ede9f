// The page after the last text: the result over passes, over time with a price for each token, and
// the darts of a rejected word.
import { html, nothing } from "lit-html";
import type { Board } from "../darts/board";
import { slider } from "../lib/fields";
import { say } from "../lib/say";
import { type Actions, type Look, stringsOf } from "./actions";
import { type Struck, struckWords } from "./board";
import { keys } from "./idea";
import { playersOf } from "./play";
import { GPU_PRICE, hasFilled, isSamePrice, type Turn, tokensPerPass, turnsOf } from "./score";
import { named, shownGain, speedText, verdictOf } from "./sentences";
import { standings } from "./standings";
import { type Game, GUESSES, type Guess, isTimed } from "./state";
import type { Strings } from "./strings";

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
  /** Whether the page continues below the game. */
  hasMore: boolean;
}

const percent = (share: number) => (100 * share).toFixed(0);

/** What the number is; over time with a price that was not measured. */
function labelOf(game: Game, strings: Strings) {
  const { price, measured } = game;
  if (!isTimed(game)) return [strings.per_pass, ""];
  const isMeasured = isSamePrice(price.more, measured);
  const share = percent(price.more);
  return [strings.of_plain, isMeasured ? "" : say(strings.if_price, { share })];
}

/** The result in one number, and what it says. */
function outcome(game: Game, strings: Strings) {
  const { play, price } = game;
  const isOverTime = isTimed(game);
  const players = named(playersOf(play), strings);
  const [you] = players;
  const figure = isOverTime ? `${shownGain(you, price)} ×` : tokensPerPass(you.passes).toFixed(1);
  const [label, share] = labelOf(game, strings);
  return html`<p class="hsd-gm-big hsd-number">
      <strong>${figure}</strong> ${label}
      ${share ? html`<span class="hsd-gm-share">${share}</span>` : nothing}
    </p>
    <div class="hsd-gm-outcome" role="status">
      <p class="hsd-gm-verdict">
        ${isOverTime ? speedText(players, price, strings) : verdictOf(players, strings)}
      </p>
      ${isOverTime ? nothing : html`<p class="hsd-gm-lesson">${strings.moral}</p>`}
    </div>`;
}

/** A price of the slider that was measured. */
function preset(words: string, more: number, price: number, actions: Actions) {
  const share = percent(more);
  return html`<button
    type="button"
    aria-pressed=${isSamePrice(price, more) ? "true" : "false"}
    @click=${() => actions.setPrice(more)}
  >
    ${say(words, { share })}
  </button>`;
}

/** The prices at which players are as slow as plain decoding, as marks of the slider. */
function marks({ play, price }: Game, strings: Strings, family: Look["family"]) {
  const mark = ({ name, source, isYou, more }: Turn, row: number) =>
    html`<b
      class=${isYou ? "hsd-gm-you" : nothing}
      data-family=${isYou ? nothing : family(source)}
      .style=${`--more: ${more}; --row: ${row}`}
      ><span>${name} ${percent(more)} %</span></b
    >`;
  return html`<span class="hsd-gm-marks"
    >${turnsOf(named(playersOf(play), strings), price).map(mark)}</span
  >`;
}

/** The slider for the price of one more token, and the prices that were measured. */
function prices(game: Game, strings: Strings, actions: Actions, family: Look["family"]) {
  const { play, price, measured } = game;
  const { meta } = play.texts[0].plain;
  const share = say(strings.of_a_pass, { share: percent(price.more) });
  return html`<div class="hsd-gm-prices">
    <div>
      <label class="hsd-gm-price"
        ><span>${strings.price} <strong>${share}</strong></span
        >${slider(0, 1, 0.01, price.more, actions.setPrice)}${marks(game, strings, family)}<span
          class="hsd-gm-ends"
          ><span>${strings.free}</span><span>${strings.no_gain}</span></span
        ></label
      >
      <p>${strings.turns}</p>
    </div>
    <div class="hsd-gm-presets">
      ${preset(strings.on_gpu, GPU_PRICE, price.more, actions)}
      ${preset(strings.on_cpu, measured, price.more, actions)}
    </div>
    <p class="hsd-note">${say(strings.sources, { device: meta.device_name || strings.a_cpu })}</p>
  </div>`;
}

/** What leads to the question about a rejected word. */
export const questionLead = ({ word, p }: Struck, strings: Strings) =>
  say(strings.by_chance, { word, times: p < 0.005 ? "< 1" : percent(p) });

/** The answer, after the visitor's guess. */
export const answerTo = (guess: Guess | null, strings: Strings) =>
  guess === "same" ? strings.right : strings.wrong;

/** The answers to choose from before the darts are thrown. */
export function guesses(strings: Strings, actions: Actions) {
  const answer = (guess: Guess) =>
    html`<button type="button" class="hsd-primary" @click=${() => actions.guess(guess)}>
      ${strings[guess]}
    </button>`;
  return html`<div class="hsd-gm-guesses" role="group" aria-label=${strings.guess}>
    <strong>${strings.guess}</strong> ${GUESSES.map(answer)}
  </div>`;
}

/** The slider for the probability q of the proposed word, and how many proposals are kept. */
export function certaintySlider(
  word: string,
  certainty: number,
  board: Board,
  strings: Strings,
  actions: Actions,
) {
  const kept = percent(1 - (board.left ?? 0));
  return html`<label class="hsd-gm-price hsd-gm-certainty"
    ><span>${say(strings.certainty, { word, q: certainty.toFixed(2), kept })}</span
    >${slider(0, 1, 0.01, certainty, actions.setCertainty)}</label
  >`;
}

/**
 * The next step: over time, the darts, and after the guess the page below or the explorer; null:
 * none.
 */
function nextStep(game: Game, strings: Strings, actions: Actions, places: Places): Button | null {
  const { phase, play, guess } = game;
  if (phase === "result" || (phase === "time" && !isTimed(game)))
    return { kind: "hsd-gm-time", words: strings.with_time, act: actions.showTime };
  if (phase === "time" && struckWords(play).length)
    return { kind: "hsd-gm-exact", words: strings.same_text, act: actions.showDarts };
  if (phase === "exact" && !guess) return null;
  if (places.hasMore) return { kind: "", words: strings.go_on, act: actions.goOn };
  return places.hasExplorer ? exploring(strings, actions) : null;
}

const exploring = (strings: Strings, actions: Actions): Button => ({
  kind: "hsd-gm-explore",
  words: strings.explore,
  act: actions.explore,
});

/** Steps beside the next one: the game in the explorer, sharing it, and playing it again. */
function sideSteps(
  { phase }: Game,
  strings: Strings,
  actions: Actions,
  { hasExplorer, hasLink }: Places,
): Button[] {
  const steps: Button[] = [];
  if (hasExplorer) steps.push(exploring(strings, actions));
  steps.push({ kind: "", words: strings.card, act: actions.saveCard });
  if (hasLink) steps.push({ kind: "", words: strings.link, act: actions.copyLink });
  steps.push({ kind: "", words: strings.again, act: actions.restart });
  if (phase === "exact") steps.push({ kind: "", words: strings.to_times, act: actions.showTime });
  return steps;
}

function buttonTemplate({ kind, words, act }: Button, isPrimary: boolean) {
  return html`<button
    type="button"
    class=${isPrimary ? `hsd-primary ${kind}` : kind}
    @click=${act}
  >
    ${words}
  </button>`;
}

/** The buttons: the next step, then those beside it. */
function steps(game: Game, strings: Strings, actions: Actions, places: Places) {
  const first = nextStep(game, strings, actions, places);
  const beside = sideSteps(game, strings, actions, places).filter(
    ({ kind }) => !kind || kind !== first?.kind,
  );
  return html`<div class="hsd-gm-buttons">
      ${first ? buttonTemplate(first, true) : nothing}
      ${beside.map((step) => buttonTemplate(step, false))}
      <span class="hsd-note" role="status">${game.note}</span>
    </div>`;
}

/** What is said of the stairs: that they turned, and what is pale in them. */
function caption({ play, phase }: Game, strings: Strings) {
  const [you] = playersOf(play);
  const turned = html`<p class="hsd-note hsd-gm-caption">${strings.same_stairs}</p>`;
  const filled = hasFilled(you.passes) ? keys(strings, new Set(["filled"])) : nothing;
  return html`${phase === "time" ? turned : nothing} ${filled}`;
}

/** The page of the results. */
export function results(game: Game, look: Look, actions: Actions, places: Places) {
  const strings = stringsOf(look);
  const { play, phase } = game;
  if (phase === "exact") {
    const [{ word }] = struckWords(play);
    return html`<h3 class="hsd-gm-question">${say(strings.is_same, { word })}</h3>
      ${places.darts} ${steps(game, strings, actions, places)}`;
  }
  return html`${outcome(game, strings)} ${standings(game, strings, look.family)}
    ${caption(game, strings)} ${places.stairs}
    ${isTimed(game) ? prices(game, strings, actions, look.family) : nothing}
    ${steps(game, strings, actions, places)}`;
}
