// The sheet: what the model was asked, its text with the proposal in it, and the result of the last
// pass.
import { html, nothing } from "lit-html";
import { say } from "../lib/say";
import { cells } from "./idea";
import { type Piece, piecesOf } from "./line";
import type { Played } from "./run";
import { gainText, lateText, summaryOf, wordOf } from "./sentences";
import { type Game, lastPass, proposalOf } from "./state";
import type { Strings } from "./strings";
import { kindsOf } from "./words";

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

const CARET = html`<span class="hsd-gm-caret"></span>`;
/** Places for the first words of a text, on one line with the caret. */
const SLOTS = html`<span class="hsd-gm-slots">${CARET} <i></i> <i></i> <i></i> <i></i></span>`;

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
    : html` ${isFirst ? SLOTS : CARET}`;
  return html`<span class="hsd-gm-words" aria-hidden="true">${chips}${last}</span>`;
}

/** What the pass that is read does. */
const readingText = ({ words }: Played, strings: Strings) =>
  words.length ? say(strings.reading, { words: words.length }) : strings.reading_alone;

/** What the last pass brought, or what the present one does; before the first one, the rule. */
function status(game: Game, strings: Strings) {
  const last = lastPass(game);
  if (game.reading) return readingText(game.reading.pass, strings);
  if (!last) return strings.rule;
  const { tokens } = game.play.texts[game.play.act].plain;
  // The words of the line have their results on them; here they are for those who listen.
  return html`<strong>${gainText(last, strings)}</strong> ${lateText(last, tokens, strings)}
    <span class="hsd-gm-cells" aria-hidden="true">${cells(kindsOf(tokens, last.at, last))}</span
    ><span class="hsd-heard">${summaryOf(last, tokens, strings)}</span>`;
}

/** The sheet: the text, and what is said of the last pass. */
export function sheet(game: Game, strings: Strings) {
  const { isCut, pieces } = piecesOf(game.play);
  const text = html`${isCut ? "… " : nothing}${pieces.map(pieceTemplate)}`;
  const words = game.phase === "lesson" ? nothing : proposal(game);
  return html`<div class="hsd-gm-sheet">
      ${head(game, strings)}
      <div class="hsd-gm-text">
        <p class="hsd-gm-line" lang="en"><span>${text}${words}</span></p>
      </div>
      <p class="hsd-gm-said" role="status">${status(game, strings)}</p>
    </div>`;
}
