// The page while a text is played: its sheet, the field with words to choose from, the standings,
// and the lesson at the end.
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { say } from "../lib/say";
import { type Actions, type Look, stringsOf } from "./actions";
import { idea } from "./idea";
import { copiedWords, hasBegun, isLast, onText, playersOf } from "./play";
import { keptOf } from "./score";
import { fateText, filledText, mostTokens, named, rivalText, verdictOf } from "./sentences";
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
      maxlength="120"
      aria-label=${strings.field}
      placeholder=${isBusy ? "" : strings.placeholder}
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
  const { name, lesson: inEnglish, plain } = textOf(game);
  const players = named(playersOf(onText(play)), strings);
  const [you, ...others] = players;
  const best = mostTokens(others);
  const isBehind = keptOf(you.passes) < keptOf(best.passes);
  const passes = play.passes[play.act];
  const silent = passes.filter((pass) => !pass.words.length).length;
  const sentences = [
    filledText(you, strings),
    rivalText(players, strings),
    fateText(passes, plain.tokens, strings),
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

/** The rules. A phone shows one at a time: the next one after each of the first passes. */
function rules({ play }: Game, strings: Strings) {
  const passes = play.passes.flat().length;
  const kind = (place: number) => (place === Math.min(passes, 2) ? "hsd-gm-now" : nothing);
  const { lead, promise, premise, therefore } = strings;
  return html`<div class="hsd-gm-rules">
    <p class="hsd-gm-lead"><span class=${kind(0)}>${lead} <strong>${promise}</strong></span></p>
    <p class="hsd-gm-premise">
      <span class=${kind(1)}>${premise}</span> <span class=${kind(2)}>${therefore}</span>
    </p>
  </div>`;
}

/** The page of a text; `stairs` is their picture, before the first pass the idea. */
export function playing(game: Game, look: Look, actions: Actions, stairs: Element) {
  const strings = stringsOf(look);
  const isBegun = hasBegun(game.play);
  const turn =
    game.phase === "lesson"
      ? lesson(game, look, actions)
      : html`${form(game, strings, actions)} ${choices(game, strings, actions)}`;
  return html`${rules(game, strings)}
    <div class=${isBegun ? "hsd-gm-page" : "hsd-gm-page hsd-gm-new"}>
      ${sheet(game, strings)}
      <div class="hsd-gm-turn">${turn}</div>
      ${isBegun ? html`${standings(game, strings, look.family)} ${stairs}` : idea(strings)}
    </div>`;
}
