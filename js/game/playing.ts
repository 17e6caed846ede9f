// The page while a text is played: its sheet, the field with words to choose from, the standings,
// and the lesson at the end.
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { say } from "../lib/say";
import { type Actions, type Look, stringsOf } from "./actions";
import { idea } from "./idea";
import { copiedWords, hasBegun, isLast, onText, playersOf } from "./play";
import { tokensOf } from "./score";
import { mostTokens, named, rivalText, verdictOf } from "./sentences";
import { sheet } from "./sheet";
import { standings } from "./standings";
import { type Game, proposalOf } from "./state";
import type { Strings } from "./strings";
import { choicesAfter, MAX_WORDS } from "./words";

/** The fewest words that are offered for copying. */
const MIN_COPIED = 3;

const textOf = ({ play }: Game) => play.texts[play.act];

function form(game: Game, strings: Strings, actions: Actions) {
  const isBusy = game.phase === "reading";
  const proposal = game.reading?.pass.words ?? proposalOf(game);
  const words = proposal.length;
  // The first pass is one with a guess.
  const isFirst = !words && !hasBegun(game.play) && !isBusy;
  const isSilent = !words && !isFirst;
  const submit = (event: Event) => {
    event.preventDefault();
    actions.read();
  };
  return html`<form class="hsd-gm-form" @submit=${submit}>
    <input
      class="hsd-gm-field"
      name="next"
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      enterkeyhint="go"
      maxlength="200"
      aria-label=${strings.field}
      placeholder=${isBusy ? "" : say(strings.placeholder, { words: MAX_WORDS })}
      ?readonly=${isBusy}
      .value=${live(isBusy ? proposal.join(" ") : game.draft)}
      @input=${(event: { target: HTMLInputElement }) => actions.write(event.target.value)}
    /><button
      class=${isSilent ? "hsd-gm-go" : "hsd-gm-go hsd-primary"}
      ?disabled=${isBusy || isFirst}
    >
      ${isFirst ? strings.read_first : words ? say(strings.read, { words }) : strings.write}
    </button>
  </form>`;
}

/** Words to choose from, and words to copy where the text repeats itself. */
function choices(game: Game, strings: Strings, actions: Actions) {
  const { play, phase } = game;
  const { tokens, pieces } = textOf(game).plain;
  // While the model reads, they remain where they are.
  const isBusy = phase === "reading";
  const proposal = game.reading?.pass.words ?? proposalOf(game);
  const words = choicesAfter(tokens, pieces, play.at, proposal);
  const copied = isBusy || proposal.length ? [] : copiedWords(play);
  const isFull = isBusy || proposal.length >= MAX_WORDS;
  const head = html`<span class="hsd-note" aria-hidden="true">${strings.choose}</span>`;
  const choice = (word: string, k: number) =>
    html`<button
      type="button"
      class="hsd-gm-choice"
      ?disabled=${isFull}
      @click=${() => actions.choose(word)}
    >
      <kbd>${k + 1}</kbd>${word}
    </button>`;
  const copy = html`<button
    type="button"
    class="hsd-gm-copy"
    @click=${() => actions.copy(copied)}
  >
    ${say(strings.copy, { words: copied.length })}
  </button>`;
  return html`<div class="hsd-gm-choices" role="group" aria-label=${strings.choose}>
    ${words.length ? head : nothing}${words.map(choice)}${
      copied.length >= MIN_COPIED ? copy : nothing
    }
  </div>`;
}

/** The result of the text, its lesson, and the way to the next one. */
function lesson(game: Game, look: Look, actions: Actions) {
  const { play } = game;
  const strings = stringsOf(look);
  const { name, lesson: inEnglish } = textOf(game);
  const players = named(playersOf(onText(play)), strings);
  const [you, ...others] = players;
  const best = mostTokens(others);
  const isBehind = tokensOf(you.passes) < tokensOf(best.passes);
  const passes = play.passes[play.act];
  const silent = passes.filter((pass) => !pass.words.length).length;
  const sentences = [
    rivalText(players, strings),
    isBehind && 2 * silent >= passes.length ? strings.tip_alone : "",
    look.languages[look.tag].lessons[name] ?? inEnglish,
  ];
  return html`<div class="hsd-gm-end">
    <div role="status">
      <p class="hsd-gm-verdict">${verdictOf(players, strings)}</p>
      <p class="hsd-gm-lesson">${sentences.filter(Boolean).join(" ")}</p>
    </div>
    <button type="button" class="hsd-primary hsd-gm-next" @click=${actions.advance}>
      ${isLast(play) ? strings.see_stairs : strings.next_text}
    </button>
  </div>`;
}

/** The page of a text; before the first pass with the idea. */
export function playing(game: Game, look: Look, actions: Actions) {
  const strings = stringsOf(look);
  const turn =
    game.phase === "lesson"
      ? lesson(game, look, actions)
      : html`${form(game, strings, actions)} ${choices(game, strings, actions)}`;
  const below = hasBegun(game.play) ? standings(game, strings, look.family) : idea(strings);
  return html`<p class="hsd-gm-lead">${strings.lead} <strong>${strings.promise}</strong></p>
    ${sheet(game, strings)}
    <div class="hsd-gm-turn">${turn}</div>
    ${below}`;
}
