// The text of the game as it is shown: its end, in pieces that are marked by who wrote them. Pure.

import { givenOf, type Play } from "./play";
import { struckOf } from "./sentences";
import { shownText } from "./words";

/** Characters of the text that are shown, at least. */
const TAIL = 150;

/** A token of the text. */
export interface Piece {
  /** Who wrote it: it was given, the visitor proposed it, or the model wrote it by itself. */
  by: "given" | "you" | "model";
  /** The blank before its mark. */
  blank: string;
  words: string;
  /** The word that the model rejected in this place; "": none. */
  struck: string;
}

/**
 * The end of the present text, and whether there is more before it. A rejected word remains before
 * the token that the model wrote instead, until the next pass is over.
 */
export function piecesOf(play: Play): { isCut: boolean; pieces: Piece[] } {
  const text = play.texts[play.act];
  const tokens = text.plain.tokens.slice(0, play.at);
  const passes = play.passes[play.act];
  const given = givenOf(text);
  const isMine = (k: number) => passes.some(({ at, own }) => at <= k && k < own);
  const last = passes.at(-1);
  const struckAt = last && struckOf(last) ? last.own : -1;

  const begin = tokens.reduce((sum, token) => sum + token.text.length, 0) - TAIL;
  const pieces: Piece[] = [];
  let length = 0;
  for (const [k, token] of tokens.entries()) {
    length += token.text.length;
    if (length < begin) continue;
    const words = shownText(token.text);
    if (k < given) {
      pieces.push({ by: "given", blank: "", words, struck: "" });
      continue;
    }
    // A mark begins with the word, not with the blank before it; neighbours of one kind are one
    // mark.
    const joins = k > given && k !== struckAt && isMine(k) === isMine(k - 1);
    const blank = joins ? "" : (/^\s+/.exec(words)?.[0] ?? "");
    pieces.push({
      by: isMine(k) ? "you" : "model",
      blank,
      words: words.slice(blank.length),
      struck: last && k === struckAt ? (struckOf(last) ?? "") : "",
    });
  }
  return { isCut: begin > 0, pieces };
}
