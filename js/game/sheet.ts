// The sheet: what the model was asked, its text with the proposal in it, and the result of the last
// pass.
import { html, nothing } from "lit-html";
import { say } from "../lib/say";
import { type Piece, piecesOf } from "./line";
import type { Played } from "./run";
import { gainText, summaryOf, wordOf } from "./sentences";
import { type Game, lastPass, proposalOf } from "./state";
import type { Strings } from "./strings";
import { MAX_WORDS } from "./words";

/** The question, and the place in the passes of the text. */
function head({ play, phase }: Game, strings: Strings) {
  const used = play.passes[play.act].length;
  const present = phase === "lesson" ? used : used + 1;
  const { asked, passes } = play.texts[play.act];
  return html`<div class="hsd-gm-sheet-head">
    <span>${strings.asked} <q lang="en">${asked}</q></span>
    <span class="hsd-gm-place hsd-number">${say(strings.pass_of, { pass: present, passes })}</span>
  </div>`;
}

/** The classes of a piece by who wrote it; what was filled in is as the given text. */
const KINDS = { given: nothing, filled: nothing, you: "hsd-gm-mine", model: "hsd-gm-own" };

function pieceTemplate({ by, blank, words, struck, unread }: Piece) {
  const later = unread ? html` <s class="hsd-gm-struck hsd-gm-unread">${unread}</s>` : nothing;
  const trace = struck
    ? html`${blank ? nothing : " "}<s class="hsd-gm-struck">${struck}</s>${later}&nbsp;→ `
    : nothing;
  return html`${blank}${trace}<span class=${KINDS[by]}>${words}</span>`;
}

/** Places for the first words of a text, on one line. */
const SLOTS = html` <span class="hsd-gm-slots"><i></i> <i></i> <i></i> <i></i></span>`;

/** The words of the proposal; while the model reads, with their results and the model's token. */
function proposal(game: Game) {
  const pass = game.reading?.pass;
  const words = pass ? pass.words : proposalOf(game);
  const chips = words.map(
    (word, k) =>
      html` <span class="hsd-gm-word" data-fate=${pass?.fates[k] ?? nothing}>${word}</span>`,
  );
  const isFirst = !words.length && !lastPass(game);
  const last = pass
    ? html` <span class="hsd-gm-word hsd-gm-drop"
        >${wordOf(game.play.texts[game.play.act].plain.tokens, pass.own)}</span
      >`
    : html` <span class="hsd-gm-caret"></span>${isFirst ? SLOTS : nothing}`;
  return html`<span class="hsd-gm-words" aria-hidden="true">${chips}${last}</span>`;
}

/** What the pass that is read does. */
const readingText = ({ words }: Played, strings: Strings) =>
  words.length ? say(strings.reading, { words: words.length }) : strings.reading_alone;

/** What the last pass brought, or what the present one does; before the first one, a hint. */
function status(game: Game, strings: Strings) {
  const last = lastPass(game);
  if (game.reading) return html`<strong>${readingText(game.reading.pass, strings)}</strong>`;
  if (!last) return say(strings.hint, { words: MAX_WORDS });
  const { tokens } = game.play.texts[game.play.act].plain;
  return html`<strong>${gainText(last, tokens, strings)}</strong>
    <span>${summaryOf(last, tokens, strings)}</span>`;
}

/** The sheet, and below it what is said of the last pass. */
export function sheet(game: Game, strings: Strings) {
  const { isCut, pieces } = piecesOf(game.play);
  const text = html`${isCut ? "… " : nothing}${pieces.map(pieceTemplate)}`;
  const words = game.phase === "lesson" ? nothing : proposal(game);
  return html`<div class="hsd-gm-sheet">
      ${head(game, strings)}
      <div class="hsd-gm-text">
        <p class="hsd-gm-line" lang="en"><span>${text}${words}</span></p>
      </div>
    </div>
    <p class="hsd-gm-said" role="status">${status(game, strings)}</p>`;
}
