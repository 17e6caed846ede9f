// Drawn parts of a token's text. Pure.
import { codePoint, HIDDEN } from "../lib/words";

export interface TextPart {
  from: number;
  to: number;
  shown: string;
  cls: string;
  glyph: string;
}
/** Other blanks, joiners and variation selectors: shown only with visible whitespace. */
const FAINT = /[\u1680\u2000-\u200a\u200d\u202f\u205f\u2800\u3000\ufe00-\ufe0f]/u;
/** Text with letters of a script written from right to left. */
export const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ALWAYS = new RegExp(`\\n|^\\p{M}|${HIDDEN.source}`, "gu");
const BLANKS_TOO = new RegExp(`\\n|^\\p{M}| +|\\t|\\u00a0|${FAINT.source}|${HIDDEN.source}`, "gu");

/**
 * The drawn parts of a token's text, in order and without gaps: {from, to: range in `text`, shown: drawn text, cls: "" for plain text,
 * glyph: additional glyph or ""}. `all`: also glyphs for blanks. `trailing`: a line break follows, so that blanks at the end are
 * trailing.
 */
export function partsOf(text: string, all = false, trailing = false) {
  const parts: { from: number; to: number; shown: string; cls: string; glyph: string }[] = [];
  let at = 0;
  const plain = (to: number) => {
    if (to > at) parts.push({ from: at, to, shown: text.slice(at, to), cls: "", glyph: "" });
  };
  for (const match of text.matchAll(all ? BLANKS_TOO : ALWAYS)) {
    const c = match[0];
    plain(match.index);
    at = match.index + c.length;
    parts.push({ from: match.index, to: at, ...drawnAs(c) });
  }
  plain(text.length);
  for (let k = parts.length - 1, ends = trailing; k >= 0; k--) {
    const blank = parts[k].cls === "hsd-blank" || parts[k].cls === "hsd-tab";
    if (blank && ends) parts[k].cls += " hsd-trailing";
    ends = parts[k].cls === "hsd-nl" || (blank && ends);
  }
  return parts;
}

function drawnAs(c: string) {
  if (c === "\n") return { shown: c, cls: "hsd-nl", glyph: "↵" };
  if (c === "\t") return { shown: c, cls: "hsd-tab", glyph: "⇥" };
  if (c === "\u00a0") return { shown: c, cls: "hsd-blank", glyph: "°" };
  if (c[0] === " ") return { shown: c, cls: "hsd-blank", glyph: "·".repeat(c.length) };
  // A combining mark at the start of a token has no base character.
  if (/^\p{M}$/u.test(c) && !FAINT.test(c)) return { shown: `◌${c}`, cls: "hsd-code", glyph: "" };
  return { shown: codePoint(c), cls: "hsd-code", glyph: "" };
}

/** Split parts at `at`, an index in the text, if that part is drawn verbatim. */
export function cutAt(parts: ReturnType<typeof partsOf>, at: number) {
  return parts.flatMap((p) => {
    if (p.from >= at || p.to <= at || !wholeChars(p)) return [p];
    const k = at - p.from;
    return [
      { ...p, to: at, shown: p.shown.slice(0, k), glyph: p.glyph.slice(0, k) },
      { ...p, from: at, shown: p.shown.slice(k), glyph: p.glyph.slice(k) },
    ];
  });
}
/** Whether a part is drawn verbatim. */
export const wholeChars = (part: TextPart) => !part.cls || part.cls.startsWith("hsd-blank");

/** Whether only blanks separate token `i` from a line break. */
export function endsLine(tokens: { text: string }[], i: number) {
  for (let k = i + 1; k < tokens.length; k++) {
    const solid = tokens[k].text.search(/[^ \t\u00a0]/);
    if (solid >= 0) return tokens[k].text[solid] === "\n";
  }
  return false;
}

const bytesOf = (hex: string) => Uint8Array.from(hex.match(/../g) || [], (pair) => parseInt(pair, 16));

/** Decode bytes, or null if not whole characters. */
function decoded(bytes: ArrayLike<number>) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}
/** Maximum tokens combined into one character. */
const MOST_TOGETHER = 12;

/**
 * The drawn prompt tokens. Pieces of partial characters have escaped bytes: if consecutive pieces form characters of the prompt, the
 * first gets the characters and the others are empty.
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
    for (let j = i; j < Math.min(pieces.length, i + MOST_TOGETHER); j++) {
      for (const part of pieces[j].split(/(\\x[0-9a-f]{2})/)) {
        bytes.push(...(/^\\x[0-9a-f]{2}$/.test(part) ? [parseInt(part.slice(2), 16)] : new TextEncoder().encode(part)));
      }
      const whole = decoded(bytes);
      if (!whole || !prompt.startsWith(whole, at)) continue;
      texts[i] = whole;
      texts.fill("", i + 1, j + 1);
      at += whole.length;
      i = j;
      break;
    }
  }
  return texts;
}

/** The whole characters around a partial token (`raw`): text and token range; null if there are none. */
export function characterOf(tokens: { raw: string | null }[], i: number) {
  for (let count = 1; count <= MOST_TOGETHER; count++) {
    for (let from = Math.max(0, i - count + 1); from <= i && from + count <= tokens.length; from++) {
      const some = tokens.slice(from, from + count);
      if (!some.every((t) => t.raw !== null)) continue;
      const text = decoded(bytesOf(some.map((t) => t.raw).join("")));
      if (text) return { text, from, to: from + count - 1 };
    }
  }
  return null;
}
