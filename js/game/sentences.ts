// Sentences of the game about its figures: the result of a glance, scores and times. Pure.

import type { Token } from "../lib/tables";
import type { Played } from "./run";
import { type Says, say, together } from "./says";
import { gainOf, type Player, type Price, perPass, ranked, tokensOf } from "./score";
import { partsOf, shownText } from "./words";

/** The word that the model did not accept in a glance, if any. */
export const struckOf = ({ words, fates }: Pick<Played, "words" | "fates">): string | undefined =>
  words[fates.indexOf("struck")];

/** The token at a place as a word of a sentence. */
export const wordOf = (tokens: readonly Pick<Token, "text">[], place: number): string =>
  shownText(tokens[place]?.text ?? "").trim() || "↵";

/** Players with their names in a language. */
export const named = (players: readonly Player[], says: Says): Player[] =>
  players.map((player) => ({ ...player, name: says[player.name as keyof Says] ?? player.name }));

/** The result of a glance, as a sum of the tokens that the recorded run has there. */
export function summaryOf(
  glance: Played,
  tokens: readonly Pick<Token, "token_id" | "text">[],
  says: Says,
): string {
  const { at, own, accepted, words } = glance;
  const model = wordOf(tokens, own);
  if (!words.length) return say(says.wrote_alone, { model });
  const parts = partsOf(tokens, at, glance);
  const terms = [
    [says.sum_words, parts.words],
    [says.sum_pieces, parts.pieces],
    [says.sum_commas, parts.commas],
    [says.sum_marks, parts.marks],
  ] as const;
  const counted = terms
    .filter(([, count]) => count > 0)
    .map(([term, count]) => say(term, { count }));
  const word = struckOf(glance);
  return say(says.outcome, {
    right: parts.words,
    words: words.length,
    rejected: word ? say(says.rejected, { word }) : "",
    sum: [...counted, say(says.sum_own, { model })].join(" + "),
    tokens: accepted + 1,
  });
}

/** Tokens per glance of each player, the most first. */
export function scoreWords(players: readonly Player[], says: Says): string {
  const order = [...players].sort((a, b) => perPass(b.passes) - perPass(a.passes));
  const scores = order.map(
    ({ name, passes }) => `${name.toLowerCase()} ${perPass(passes).toFixed(1)}`,
  );
  return together(scores, says);
}

/** The player with the most tokens; the first of equals. */
export const mostTokens = (players: readonly Player[]): Player =>
  players.reduce((best, one) => (tokensOf(one.passes) > tokensOf(best.passes) ? one : best));

/** The player with the most tokens in a glance; the first of equals. */
const mostPerPass = (players: readonly Player[]): Player =>
  players.reduce((best, one) => (perPass(one.passes) > perPass(best.passes) ? one : best));

/** Who is the fastest, and why the one with the fewest glances may not be. */
export function timesWords(players: readonly Player[], price: Price, says: Says): string {
  const order = ranked(players, price);
  const times = order.map(
    ({ name, passes }) => `${name.toLowerCase()} ${gainOf(passes, price).toFixed(2)} ×`,
  );
  const fastest = say(says.fastest, { times: times.join(says.comma) });
  const fewest = mostPerPass(players);
  if (order[0].name === fewest.name) return fastest;
  const width = Math.max(...fewest.passes.map((pass) => pass.width));
  const cost = (1 + price.more * (width - 1)).toFixed(1);
  return `${fastest} ${say(says.fewest, { name: fewest.name, width, cost })}`;
}
