// The page while a text is played: its sheet with the proposal, the field with words to choose
// from, what is to be beaten, and the lesson at the end.
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { type Acts, type Look, saysOf } from "./acts";
import { type Piece, piecesOf } from "./line";
import { aheadOf, copiedWords, isLast, MOST_PASSES, onText, playersOf } from "./play";
import { type Says, say } from "./says";
import { type Player, tokensOf } from "./score";
import { mostTokens, named, scoreWords, summaryOf, wordOf } from "./sentences";
import { type Game, lastPass, proposalOf } from "./state";
import { choicesAfter, MOST_WORDS } from "./words";

/** The fewest words that are offered for copying. */
const FEWEST_COPIED = 3;

const textOf = ({ play }: Game) => play.texts[play.act];

function pieceTemplate({ by, blank, words, struck }: Piece) {
  if (by === "given") return html`<span>${words}</span>`;
  const trace = struck
    ? html`${blank ? nothing : " "}<s class="hsd-gm-struck">${struck}</s>&nbsp;→ `
    : nothing;
  return html`${blank}${trace}<span class=${by === "you" ? "hsd-gm-mine" : "hsd-gm-own"}
      >${words}</span
    >`;
}

/** The words of the proposal; while the model reads, with their results and the model's token. */
function proposalTemplate(game: Game) {
  const pass = game.reading?.pass;
  const words = pass ? pass.words : proposalOf(game);
  const chips = words.map(
    (word, k) =>
      html`<span
        class="hsd-gm-word"
        data-fate=${pass?.fates[k] ?? nothing}
        .style=${`--k: ${k}`}
        >${word}</span
      >`,
  );
  const last = pass
    ? html`<span class="hsd-gm-word hsd-gm-drop" .style=${`--k: ${words.length}`}
        >${wordOf(textOf(game).plain.tokens, pass.own)}</span
      >`
    : html`<span class="hsd-gm-caret" aria-hidden="true"></span>`;
  return html`<p class="hsd-gm-words" aria-hidden="true">${chips}${last}</p>`;
}

function sheet(game: Game) {
  const { isCut, pieces } = piecesOf(game.play);
  return html`<div class="hsd-gm-sheet">
    <p class="hsd-gm-line" lang="en">
      <span>${isCut ? "… " : nothing}${pieces.map(pieceTemplate)}</span>
    </p>
    ${proposalTemplate(game)}
  </div>`;
}

function form(game: Game, says: Says, acts: Acts) {
  const isBusy = game.phase === "reading";
  const submit = (event: Event) => {
    event.preventDefault();
    acts.read();
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
      aria-label=${says.field}
      placeholder=${says.placeholder}
      ?readonly=${isBusy}
      .value=${live(game.draft)}
      @input=${(event: { target: HTMLInputElement }) => acts.write(event.target.value)}
    /><button class="hsd-primary hsd-gm-go" ?disabled=${isBusy}>
      ${proposalOf(game).length ? says.read : says.write}
    </button>
  </form>`;
}

/** Words to choose from, and words to copy where the text repeats itself. */
function choices(game: Game, says: Says, acts: Acts) {
  const { play, phase } = game;
  const { tokens, pieces } = textOf(game).plain;
  const proposal = proposalOf(game);
  const isBusy = phase === "reading";
  const words = isBusy ? [] : choicesAfter(tokens, pieces, play.at, proposal);
  const copied = isBusy || proposal.length ? [] : copiedWords(play);
  const isFull = proposal.length >= MOST_WORDS;
  const head = html`<span class="hsd-note" aria-hidden="true">${says.choose}</span>`;
  const choice = (word: string, k: number) =>
    html`<button
      type="button"
      class="hsd-gm-choice"
      ?disabled=${isFull}
      @click=${() => acts.choose(word)}
    >
      <kbd>${k + 1}</kbd>${word}
    </button>`;
  const copy = html`<button
    type="button"
    class="hsd-gm-copy"
    @click=${() => acts.copy(copied)}
  >
    ${say(says.copy, { words: copied.length })}
  </button>`;
  return html`<div class="hsd-gm-choices" role="group" aria-label=${says.choose}>
    ${words.length ? head : nothing}${words.map(choice)}${
      copied.length >= FEWEST_COPIED ? copy : nothing
    }
  </div>`;
}

/** The result of the last pass; before the first one of a text, a hint. */
function status(game: Game, says: Says): unknown {
  const last = lastPass(game);
  if (!last) return says.hint;
  return game.phase === "reading" ? nothing : summaryOf(last, textOf(game).plain.tokens, says);
}

function writing(game: Game, look: Look, acts: Acts) {
  const says = saysOf(look);
  return html`${form(game, says, acts)} ${choices(game, says, acts)}
    <p class="hsd-gm-said" role="status">${status(game, says)}</p>`;
}

/** The result of the last pass and of the text, its lesson, and the score so far. */
function lesson(game: Game, look: Look, acts: Acts) {
  const { play } = game;
  const says = saysOf(look);
  const { name, lesson: inEnglish } = textOf(game);
  const players = named(playersOf(onText(play)), says);
  const [you, ...others] = players;
  const isBehind = tokensOf(you.passes) < tokensOf(mostTokens(others).passes);
  const silent = play.passes[play.act].filter((pass) => !pass.words.length).length;
  const tip = isBehind && 2 * silent >= you.passes.length ? `${says.tip_alone} ` : "";
  const all = named(playersOf(play), says);
  const soFar = play.act ? say(says.so_far, { score: scoreWords(all, says) }) : "";
  return html`<p class="hsd-gm-said" role="status">${status(game, says)}</p>
    <p class="hsd-gm-verdict">${say(says.on_text, { score: scoreWords(players, says) })}</p>
    <p class="hsd-gm-lesson">${tip}${look.languages[look.tag].lessons[name] ?? inEnglish}</p>
    <p class="hsd-note">${soFar}</p>
    <div class="hsd-gm-buttons">
      <button type="button" class="hsd-primary hsd-gm-next" @click=${acts.advance}>
        ${isLast(play) ? says.see_stairs : says.next_text}
      </button>
    </div>`;
}

/** On the present text: the tokens so far, and what is to be beaten with all passes. */
function goal({ play }: Game, look: Look) {
  const says = saysOf(look);
  const [you] = named(playersOf(onText(play)), says);
  const best = mostTokens(named(aheadOf(onText(play)), says));
  const score = ({ name, passes }: Player) => `${name} ${tokensOf(passes)}`;
  return html`<p class="hsd-gm-goal">
      <strong class="hsd-gm-you">${score(you)}</strong>
      <span
        >${says.to_beat}
        <strong data-family=${look.family(best.source)}>${score(best)}</strong></span
      >
      ${say(says.in_passes, { passes: best.passes.length })}
    </p>
    <p class="hsd-note hsd-gm-units">${says.units} ${play.act ? says.all_texts : nothing}</p>`;
}

/** Who the others are: in the place of the stairs, until the first pass of the game. */
function others({ play }: Game, look: Look) {
  if (play.passes.flat().length) return nothing;
  const says = saysOf(look);
  const players = playersOf(play).slice(1).reverse();
  const introduced = ({ name, source }: Player) =>
    html`<span
      ><strong data-family=${source === "target" ? nothing : look.family(source)}
        >${says[name as keyof Says] ?? name}</strong
      >: ${says[`is_${name}` as keyof Says] ?? nothing}</span
    >`;
  return html`<p class="hsd-gm-others">${players.map(introduced)}</p>`;
}

/** The place in the game: which text it is, and its passes as dots. */
export function progress({ play }: Game, says: Says) {
  const used = play.passes[play.act].length;
  const place = say(says.act, {
    act: play.act + 1,
    acts: play.texts.length,
    passes: MOST_PASSES,
  });
  return html`${place}
    <span class="hsd-gm-pips" aria-hidden="true"
      >${"●".repeat(used)}${"○".repeat(MOST_PASSES - used)}</span
    >`;
}

/** The page of a text; `stairs` is their picture. */
export function playing(game: Game, look: Look, acts: Acts, stairs: Element) {
  const says = saysOf(look);
  const isDone = game.phase === "lesson";
  return html`<p class="hsd-gm-asked">
      ${says.premise}<br />${says.asked} <q lang="en">${textOf(game).asked}</q>
      <strong>${says.task}</strong>
    </p>
    ${sheet(game)} ${isDone ? lesson(game, look, acts) : writing(game, look, acts)}
    ${isDone ? nothing : goal(game, look)}
    <div class="hsd-gm-race">${others(game, look)}${stairs}</div>`;
}
