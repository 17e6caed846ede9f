// Divides the text of tokens into drawn parts. Pure functions.
import { codePoint, HIDDEN } from "../lib/words";

/** Matches text with letters of a right-to-left script. */
export const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ALWAYS = new RegExp(`\\n|^\\p{M}|${HIDDEN.source}`, "gu");

/**
 * Return the drawn parts of a token's text, in order and without gaps. `cls` is "" for plain text;
 * `glyph` is drawn in addition.
 */
export function partsOf(text: string) {
  const parts: { shown: string; cls: string; glyph: string }[] = [];
  let at = 0;
  const plain = (to: number) => {
    if (to > at) parts.push({ shown: text.slice(at, to), cls: "", glyph: "" });
  };
  for (const match of text.matchAll(ALWAYS)) {
    const c = match[0];
    plain(match.index);
    at = match.index + c.length;
    if (c === "\n") parts.push({ shown: c, cls: "hsd-nl", glyph: "↵" });
    // A combining mark at the start of a token has no base character; a variation selector has no
    // mark.
    else if (/^\p{M}$/u.test(c) && !/[\ufe00-\ufe0f]/.test(c))
      parts.push({ shown: `◌${c}`, cls: "hsd-code", glyph: "" });
    else parts.push({ shown: codePoint(c), cls: "hsd-code", glyph: "" });
  }
  plain(text.length);
  return parts;
}

/** Decode bytes; null if they are not complete characters. */
function decoded(bytes: ArrayLike<number>) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(bytes),
    );
  } catch {
    return null;
  }
}
/** Maximum number of tokens that are combined into one character. */
const MAX_COMBINED = 12;

/**
 * Return the drawn texts of prompt tokens. Pieces of incomplete characters have escaped bytes. If
 * consecutive pieces form characters of the prompt, the first gets the characters and the others
 * are empty.
 */
export function promptPieces(pieces: string[], prompt: string) {
  const texts = [...pieces];
  let at = 0;
  for (let i = 0; i < pieces.length; i++) {
    if (prompt.startsWith(pieces[i], at)) {
      at += pieces[i].length;
      continue;
    }
    const bytes: number[] = [];
    for (let j = i; j < Math.min(pieces.length, i + MAX_COMBINED); j++) {
      for (const part of pieces[j].split(/(\\x[0-9a-f]{2})/)) {
        bytes.push(
          ...(/^\\x[0-9a-f]{2}$/.test(part)
            ? [parseInt(part.slice(2), 16)]
            : new TextEncoder().encode(part)),
        );
      }
      const character = decoded(bytes);
      if (!character || !prompt.startsWith(character, at)) continue;
      texts[i] = character;
      texts.fill("", i + 1, j + 1);
      at += character.length;
      i = j;
      break;
    }
  }
  return texts;
}
