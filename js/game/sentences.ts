// Sentences of the game about its figures: the result of a pass, of a text, and of the times. Pure.
import { say } from "../lib/say";
import type { Token } from "../lib/tables";
import type { Played } from "./run";
import {
  gainOf,
  type Player,
  type Price,
  passCost,
  ranked,
  tokensOf,
  tokensPerPass,
} from "./score";
import type { Strings } from "./strings";
import { bare, shownText, wordAt } from "./words";

/** The source of a player that copies. */
export const COPYING = "context";

/** The word that the model did not accept in a pass, if any. */
export const struckOf = ({ words, fates }: Pick<Played, "words" | "fates">): string | undefined =>
  words[fates.indexOf("struck")];

/** The words after it, which the model did not read. */
export const unreadOf = ({ words, fates }: Pick<Played, "words" | "fates">): string =>
  words.filter((_, k) => fates[k] === "unread").join(" ");

/** The token at a place as a word of a sentence. */
export const wordOf = (tokens: readonly Pick<Token, "text">[], place: number): string =>
  shownText(tokens[place]?.text ?? "").trim() || "↵";

/** Players with their names in a language. */
export const named = (players: readonly Player[], strings: Strings): Player[] =>
  players.map((player) => ({
    ...player,
    name: strings[player.name as keyof Strings] ?? player.name,
  }));

/** What a pass brought, against plain decoding. */
export function gainText({ words, fates, accepted }: Played, strings: Strings): string {
  if (!words.length) return strings.one_alone;
  if (!fates.includes("accepted")) return say(strings.none_right, { tokens: accepted + 1 });
  return say(strings.gained, { passes: accepted + 1 });
}

/** That a word would have been right where the one before it was not; "": it is not so. */
export function lateText(
  { own, words, fates }: Played,
  tokens: readonly Token[],
  strings: Strings,
): string {
  const struck = fates.indexOf("struck");
  const word = wordAt(tokens, own);
  const isLate = struck >= 0 && bare(words[struck + 1] ?? "") === bare(word);
  return isLate ? say(strings.late, { word }) : "";
}

/** The result of the words of a pass, and what the model wrote after them. */
export function summaryOf(
  pass: Played,
  tokens: readonly Pick<Token, "text">[],
  strings: Strings,
): string {
  const { own, words, fates } = pass;
  const model = wordOf(tokens, own);
  if (!words.length) return say(strings.wrote_alone, { model });
  const word = struckOf(pass);
  return say(strings.outcome, {
    right: fates.filter((fate) => fate === "accepted").length,
    words: words.length,
    rejected: word ? say(strings.rejected, { word }) : "",
    model,
  });
}

/** The player with the most tokens; the first of equals. */
export const mostTokens = (players: readonly Player[]): Player =>
  players.reduce((best, one) => (tokensOf(one.passes) > tokensOf(best.passes) ? one : best));

/** Who has the most tokens in as many passes: the visitor, who is the first, or another one. */
export function verdictOf([you, ...others]: readonly Player[], strings: Strings): string {
  const best = mostTokens(others);
  const yours = tokensOf(you.passes);
  const theirs = tokensOf(best.passes);
  const values = { yours, theirs, name: best.name, passes: you.passes.length };
  if (yours > theirs) return say(strings.win, values);
  return say(yours === theirs ? strings.tie : strings.lose, values);
}

/** How the best other player won or came close by copying, or that nothing could be copied. */
export function rivalText([, ...others]: readonly Player[], strings: Strings): string {
  const copying = others.find(({ source }) => source === COPYING);
  if (!copying) return "";
  const most = Math.max(...copying.passes.map(({ tokens }) => tokens));
  if (most <= 1) return strings.no_copy;
  return copying === mostTokens(others) ? say(strings.why_copying, { most }) : "";
}

/** How many times as fast as plain decoding, as it is shown. */
export const shownGain = ({ passes }: Player, price: Price): string =>
  gainOf(passes, price).toFixed(2);

/**
 * The drafter that is the fastest, though it has fewer tokens per pass than the visitor, who is the
 * first of the players; undefined: there is none.
 */
function overtakerOf(players: readonly Player[], price: Price): Player | undefined {
  const [first] = ranked(players, price);
  const [you] = players;
  return tokensPerPass(first.passes) < tokensPerPass(you.passes) ? first : undefined;
}

/** How fast the visitor, the first of the players, is, and why. */
export function speedText(players: readonly Player[], price: Price, strings: Strings): string {
  const [you] = players;
  const gain = Number(shownGain(you, price));
  if (gain === 1) return strings.you_equal;
  const values = {
    tokens: tokensPerPass(you.passes).toFixed(1),
    cost: passCost(you.passes, price).toFixed(1),
  };
  if (gain < 1) return say(strings.you_slower, values);
  const first = overtakerOf(players, price);
  if (!first) return say(strings.you_faster, values);
  return say(strings.overtaken, {
    name: first.name,
    theirs: passCost(first.passes, price).toFixed(2),
    yours: passCost(you.passes, price).toFixed(2),
  });
}
