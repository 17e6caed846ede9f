// The text of the game as it is shown: its end, in pieces that are marked by who wrote them. Pure.

import { givenOf, type Play } from "./play";
import { struckOf, unreadOf } from "./sentences";
import { isFilled, shownText } from "./words";

/** The end of the text that is shown: characters at least, and lines at most. */
const TAIL = { characters: 150, lines: 3 };

/** Where the end of a text begins. */
function beginOf(text: string): number {
  let line = text.length;
  for (let k = 0; k < TAIL.lines && line >= 0; k++) line = text.lastIndexOf("\n", line - 1);
  return Math.max(text.length - TAIL.characters, line + 1);
}

/** A token of the text. */
export interface Piece {
  /**
   * Who wrote it: it was given, the visitor proposed it, it was filled in between such words, or
   * the model wrote it by itself.
   */
  by: "given" | "you" | "filled" | "model";
  /** The blank before its mark. */
  blank: string;
  words: string;
  /** The word that the model rejected in this place, and those after it; "": none. */
  struck: string;
  unread: string;
}

/**
 * The end of the present text, and whether there is more before it. Rejected words remain before
 * the token that the model wrote instead, until the next pass is over.
 */
export function piecesOf(play: Play): { isCut: boolean; pieces: Piece[] } {
  const text = play.texts[play.act];
  const tokens = text.plain.tokens.slice(0, play.at);
  const passes = play.passes[play.act];
  const given = givenOf(text);
  const writerOf = (k: number): Piece["by"] => {
    if (k < given) return "given";
    if (!passes.some(({ at, own }) => at <= k && k < own)) return "model";
    return isFilled(tokens[k]) ? "filled" : "you";
  };
  const last = passes.at(-1);
  const struckAt = last && struckOf(last) ? last.own : -1;

  const begin = beginOf(tokens.map((token) => token.text).join(""));
  const pieces: Piece[] = [];
  let length = 0;
  for (const [k, token] of tokens.entries()) {
    length += token.text.length;
    if (length < begin) continue;
    const words = shownText(token.text);
    // The end begins with a word.
    if (begin > 0 && !pieces.length && !words.trim()) continue;
    const by = writerOf(k);
    // A mark begins with the word, not with the blank before it; neighbours of one kind are one
    // mark.
    const joins = by === "given" || (k > given && k !== struckAt && by === writerOf(k - 1));
    const blank = joins ? "" : (/^\s+/.exec(words)?.[0] ?? "");
    const isStruck = last && k === struckAt;
    pieces.push({
      by,
      blank,
      words: words.slice(blank.length),
      struck: isStruck ? (struckOf(last) ?? "") : "",
      unread: isStruck ? unreadOf(last) : "",
    });
  }
  return { isCut: begin > 0, pieces };
}
