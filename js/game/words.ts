// What the visitor writes against what the model wrote: words in any case, with punctuation filled
// in. Pure.
import type { Token } from "../lib/tables";

/**
 * Words of a proposal, and words to choose from, at most. The longest recorded copy has fewer, so
 * that a visitor can copy as much.
 */
export const MAX_WORDS = 15;
const CHOICES = 5;

type Text = Pick<Token, "token_id" | "text">;
type Row = Text & Pick<Token, "top">;
/**
 * The result of a written word: accepted, struck, or not read because an earlier one was struck.
 */
export type Fate = "accepted" | "struck" | "unread";
/** A pass of the model over a proposal. */
export interface VerifiedPass {
  /** Tokens of the proposal that the model accepted, and the place of its own next token. */
  accepted: number;
  own: number;
  /** Tokens that the model read in the one pass, its own place included. */
  width: number;
  fates: Fate[];
}

const END = /<\|[^|]*\|>/g;
/** Text of the model as it is shown: its sign for the end is not text. */
export const shownText = (text: string) => text.replace(END, " [end]").replace(/\n{2,}/g, "\n");

/** The letters of a text, for comparison. */
export const bare = (text: string) => text.toLowerCase().replace(/[^\p{L}]/gu, "");
/** A token without a letter is filled in: commas, dots, numbers of a list, line breaks. */
export const isFilled = ({ text }: Text) => bare(text) === "";
/** Whether a token continues the word before it. */
const continues = (tokens: readonly Text[], at: number) =>
  at > 0 && /^\p{L}/u.test(tokens[at].text) && /\p{L}$/u.test(tokens[at - 1].text);

/** The first place from `at` on that is not filled in, before the last token. */
function afterFilled(tokens: readonly Text[], at: number): number {
  let place = at;
  while (place < tokens.length - 1 && isFilled(tokens[place])) place += 1;
  return place;
}
/** The place after a word that starts at `at`; -1 if the text has another one there. */
function afterWord(tokens: readonly Text[], at: number, word: string): number {
  let place = at;
  let rest = bare(word);
  while (rest && place < tokens.length - 1) {
    const part = bare(tokens[place].text);
    if (!rest.startsWith(part)) return -1;
    rest = rest.slice(part.length);
    place += 1;
  }
  return rest ? -1 : place;
}
/** The letters of an unfinished word before `at`: a visitor may write it again from its start. */
function begun(tokens: readonly Text[], at: number): string {
  let from = at;
  while (from > 0 && from < tokens.length && continues(tokens, from)) from -= 1;
  return tokens
    .slice(from, at)
    .map(({ text }) => bare(text))
    .join("");
}

/** Whether a recording ends before its text does. */
const isCut = (tokens: readonly Text[]) => !tokens[tokens.length - 1].text.match(END);

/**
 * Read a proposal of words in one pass, at place `at` of the text that the model writes: greedy
 * decoding has one text, so a word is accepted if it is the next one. The last token is always the
 * model's own; words after a recording are not read.
 */
export function readWords(
  tokens: readonly Text[],
  at: number,
  words: readonly string[],
): VerifiedPass {
  const fates: Fate[] = [];
  let place = at;
  for (const [k, word] of words.entries()) {
    if (fates.includes("struck")) {
      fates.push("unread");
      continue;
    }
    // What separates the word from the text is filled in first: a wrong word does not lose it.
    place = afterFilled(tokens, place);
    if (place === tokens.length - 1 && isCut(tokens)) {
      fates.push("unread");
      continue;
    }
    const whole = bare(word);
    const before = k === 0 ? begun(tokens, place) : "";
    const written = before && whole.startsWith(before) ? whole.slice(before.length) : whole;
    const next = written ? afterWord(tokens, place, written) : -1;
    fates.push(next < 0 ? "struck" : "accepted");
    if (next >= 0) place = afterFilled(tokens, next);
  }
  const wrong = fates.filter((fate) => fate !== "accepted").length;
  return { accepted: place - at, own: place, width: place - at + wrong + 1, fates };
}

/** The word of the text that starts at a place, without blanks. */
export function wordAt(tokens: readonly Text[], at: number): string {
  let end = at + 1;
  while (end < tokens.length && continues(tokens, end)) end += 1;
  return tokens
    .slice(at, end)
    .map(({ text }) => text)
    .join("")
    .trim();
}

/** Who a token of a pass is from: the visitor, what is filled in beside the words, or the model. */
export type Kind = "you" | "filled" | "own";
/** The tokens of a pass by who they are from; the last one is the model's own. */
export const kindsOf = (
  tokens: readonly Text[],
  at: number,
  { own }: Pick<VerifiedPass, "own">,
): Kind[] => [
  ...tokens.slice(at, own).map((token): Kind => (isFilled(token) ? "filled" : "you")),
  "own",
];

/**
 * Words to choose from after a proposal, in alphabetical order: the model's own next word and its
 * next likeliest ones, as recorded. Proposed words are not offered again, except where the text
 * repeats one. Empty at the end of the text.
 */
export function choicesAfter(
  tokens: readonly Row[],
  pieces: Readonly<Record<number, string>>,
  at: number,
  words: readonly string[],
): string[] {
  let place = afterFilled(tokens, at);
  for (let k = 0; k < words.length && place < tokens.length; k++) {
    place += 1;
    while (place < tokens.length && continues(tokens, place)) place += 1;
    place = afterFilled(tokens, Math.min(place, tokens.length - 1));
  }
  if (place >= tokens.length - 1 || isFilled(tokens[place])) return [];
  const choices = new Map<string, string>();
  const proposed = new Set(words.map(bare));
  const add = (text: string) => {
    const key = bare(text);
    if (key && choices.size < CHOICES && !choices.has(key)) choices.set(key, text.trim());
  };
  add(wordAt(tokens, place));
  for (const [id] of tokens[place].top ?? [])
    if (id !== tokens[place].token_id && !proposed.has(bare(pieces[id] ?? "")))
      add(pieces[id] ?? "");
  // A part of another choice is not a word by itself.
  const own = bare(wordAt(tokens, place));
  const parts = [...choices.keys()].filter(
    (key) => key !== own && [...choices.keys()].some((one) => one !== key && one.startsWith(key)),
  );
  for (const key of parts) choices.delete(key);
  return [...choices.values()].sort((a, b) => a.localeCompare(b));
}

/** The place of the first token after a text that is given at first. */
export function placeAfter(tokens: readonly Text[], given: string): number {
  let length = 0;
  for (const [k, { text }] of tokens.entries()) {
    if (length >= given.length) return k;
    length += text.length;
  }
  return Math.max(0, tokens.length - 1);
}
