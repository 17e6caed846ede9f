// Formats tokens, events and figures as text. Pure functions.
import type { Palette } from "./palette";
import type { Store } from "./run";
import type { Sampling } from "./run_data";

export const KIND_WORDS: Record<string, string> = {
  accepted: "accepted draft token",
  correction: "correction by the target",
  bonus: "bonus token",
  plain: "plain token",
};
export const VERDICT_MARKS: Record<string, string> = {
  accepted: "✓",
  rejected: "✗",
  unreached: "·",
  cut: "✂",
};
/** Labels of verdicts, by verdict. */
export const FATES: Record<string, string> = {
  accepted: "accepted",
  rejected: "rejected",
  unreached: "not examined",
  cut: "matched, but cut at the end of the text",
};
/** Reasons for a round without a draft, by code. */
export const WHY: Record<string, string> = {
  "no match": "no database matched",
  "not worth it": "the expected gain was below the verification cost",
  "no room": "no room for a draft",
  off: "drafting is off",
};

// Invisible characters, bidirectional controls and lone surrogates are shown as code points.
const CONTROLS = String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad`;
const FILLERS = String.raw`\u061c\u115f\u1160\u180e\u3164\ufeff\uffa0\ufff9-\ufffb`;
const DIRECTIONS = String.raw`\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f`;
const LONE = String.raw`\ud800-\udfff\u{e0000}-\u{e0fff}`;
export const HIDDEN = new RegExp(`[${CONTROLS}${FILLERS}${DIRECTIONS}${LONE}]`, "gu");
export const codePoint = (c: string) =>
  `‹U+${(c.codePointAt(0) || 0).toString(16).toUpperCase().padStart(4, "0")}›`;
export const visible = (s: string) => s.replace(HIDDEN, codePoint);
/** Return a text on one line, with glyphs for blanks, for drafts and cards. */
export const glyphs = (s: string) =>
  visible(s).replace(/ /g, "␣").replace(/\t/g, "⇥").replace(/\n/g, "↵");
/** Like {@link glyphs} with collapsed indentation, for rejected drafts. */
export const brief = (s: string) =>
  visible(s)
    .replace(/\n/g, "↵")
    .replace(/[ \t]{2,}/g, "␣");

const SCRIPTS = String.raw`\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f`;
const FORMS = String.raw`\uff00-\uff60\uffe0-\uffe6`;
const WIDE = new RegExp(`[${SCRIPTS}${FORMS}]|\\p{Extended_Pictographic}`, "u");
/**
 * Width of a text in columns of a fixed-width font: wide scripts and emoji 2, combining marks 0.
 */
export const columnsOfText = (text: string) =>
  [...text].reduce((n, c) => n + (/\p{Mn}|\p{Me}|\p{Cf}/u.test(c) ? 0 : WIDE.test(c) ? 2 : 1), 0);

/** Format a number; 0 and 1 have no decimals. */
export const figure = (x: number | null | undefined) => {
  if (x === null || x === undefined) return "–";
  if (x === 0 || x === 1) return String(x);
  return Math.abs(x) >= 0.001 ? x.toFixed(3) : x.toExponential(1);
};
/** Format a number with `digits` significant digits. */
export function precise(x: number, digits = 3) {
  if (x === 0 || x === 1) return String(x);
  return Math.abs(x) >= 0.0001 ? x.toPrecision(digits) : x.toExponential(digits - 1);
}
/** Return how many significant digits distinguish two numbers: three to six. */
export const digitsFor = (a: number, b: number) =>
  [3, 4, 5].find((n) => precise(a, n) !== precise(b, n)) ?? 6;
/** Capitalize a leading "the"; names keep their case. */
export const capital = (words: string) => words.replace(/^the /, "The ");
/** Explain why the two values of p of a token differ; "" if they are equal. */
export function temperatureText(sampling: Sampling = {}) {
  const { temperature = 0, top_k: k = 0, top_p: p = 1, min_p } = sampling;
  if (!temperature || (temperature === 1 && !k && (p ?? 1) >= 1 && !min_p)) return "";
  const cuts = [
    k ? `top-k ${k}` : "",
    (p ?? 1) < 1 ? `top-p ${p}` : "",
    min_p ? `min-p ${min_p}` : "",
  ].filter(Boolean);
  const settings = [`temperature ${temperature}`, ...cuts].join(" and ");
  const after = `p and q of draft tokens are after ${settings}, so they differ for one token.`;
  return `“p at T = 1” is before sampling settings; ${after}`;
}
/** Format nanoseconds as 12.3 ms or 45 µs. */
export const duration = (ns: number | null | undefined) => {
  if (ns === null || ns === undefined) return "–";
  const digits = (v: number) => (v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2));
  return ns >= 1e9
    ? `${digits(ns / 1e9)} s`
    : ns >= 1e6
      ? `${digits(ns / 1e6)} ms`
      : `${digits(ns / 1e3)} µs`;
};
/** Format bytes as megabytes, without the unit. */
/** A share of a time, to a tenth, so that the shares of one time add up to it. */
export const timeShare = (share: number) => `${(100 * share).toFixed(1)} %`;
export const megabytes = (bytes: number, digits = 0) => (bytes / 1e6).toFixed(digits);
/** Format a difference with its sign; one that rounds to zero is ±0. */
export function signed(x: number, write: (x: number) => string): string {
  const words = write(Math.abs(x));
  return words === write(0) ? "±0" : `${x > 0 ? "+" : "−"}${words}`;
}
/** Make a sentence of words: with a capital and a full stop. */
export const sentence = (words: string) => words && `${words[0].toUpperCase()}${words.slice(1)}.`;
/** Shorten a text to `most` characters. */
export const cut = (text: string, most: number) =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;
/** Join words as in "A, B and C". */
export const listed = (words: string[]) =>
  words.length > 1
    ? `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`
    : (words[0] ?? "");
export const plural = (n: number, word: string) =>
  `${n} ${word}${n === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;

/** Describe an event (events.ts) in a sentence. */
export function eventText(store: Store, palette: Pick<Palette, "phrase">, step: number) {
  const e = store.index().events[step];
  const drafts = store.drafts.get(e.round) || [];
  const token = store.tokens[e.token];
  if (e.kind === "draft") {
    const sources = listed([...new Set(drafts.map((d) => d.source))].map(palette.phrase));
    return `${plural(drafts.length, "draft token")} proposed by ${sources}`;
  }
  if (e.kind === "verdict") {
    const d = e.draft;
    const { text, source } = d ?? token;
    const drafted = `“${glyphs(text)}”, drafted by ${palette.phrase(source)}`;
    return `${drafted}, is ${d ? d.verdict : "accepted"}`;
  }
  const how = { bonus: "bonus token after a fully accepted draft", plain: "no draft" }[
    token.kind as string
  ];
  return `The target adds “${glyphs(token.text)}”: ${how ?? "correction"}`;
}
