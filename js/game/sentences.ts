// Sentences of the game about its figures: the result of a pass, scores and times. Pure.

import type { Token } from "../lib/tables";
import type { Played } from "./run";
import { type Says, say, together } from "./says";
import { gainOf, type Player, type Price, perPass, ranked, tokensOf } from "./score";
import { partsOf, shownText } from "./words";

/** The word that the model did not accept in a pass, if any. */
export const struckOf = ({ words, fates }: Pick<Played, "words" | "fates">): string | undefined =>
  words[fates.indexOf("struck")];

/** The token at a place as a word of a sentence. */
export const wordOf = (tokens: readonly Pick<Token, "text">[], place: number): string =>
  shownText(tokens[place]?.text ?? "").trim() || "↵";

/** Players with their names in a language. */
export const named = (players: readonly Player[], says: Says): Player[] =>
  players.map((player) => ({ ...player, name: says[player.name as keyof Says] ?? player.name }));

/** The result of a pass, as a sum of the tokens that the recorded run has there. */
export function summaryOf(
  pass: Played,
  tokens: readonly Pick<Token, "token_id" | "text">[],
  says: Says,
): string {
  const { at, own, accepted, words } = pass;
  const model = wordOf(tokens, own);
  if (!words.length) return say(says.wrote_alone, { model });
  const parts = partsOf(tokens, at, pass);
  const terms = [
    [says.sum_words, parts.words],
    [says.sum_pieces, parts.pieces],
    [says.sum_commas, parts.commas],
    [says.sum_marks, parts.marks],
  ] as const;
  const counted = terms
    .filter(([, count]) => count > 0)
    .map(([term, count]) => say(term, { count }));
  const word = struckOf(pass);
  return say(says.outcome, {
    right: parts.words,
    words: words.length,
    rejected: word ? say(says.rejected, { word }) : "",
    sum: [...counted, say(says.sum_own, { model })].join(" + "),
    tokens: accepted + 1,
  });
}

/** Tokens per pass of each player, the most first. */
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

/** The players with the most tokens in a pass: those who need the fewest for a text. */
function withFewest(players: readonly Player[]): Player[] {
  const most = Math.max(...players.map(({ passes }) => perPass(passes)));
  return players.filter(({ passes }) => perPass(passes) === most);
}

/** How many times as fast as one token in each pass, as it is shown. */
const shownGain = ({ passes }: Player, price: Price): string => gainOf(passes, price).toFixed(2);

/** Who is the fastest. */
export function timesWords(players: readonly Player[], price: Price, says: Says): string {
  const times = ranked(players, price).map(
    (player) => `${player.name.toLowerCase()} ${shownGain(player, price)} ×`,
  );
  return say(says.fastest, { times: times.join(says.comma) });
}

/** Why some with the fewest passes are not the fastest; "" where all of them are. */
export function costWords(players: readonly Player[], price: Price, says: Says): string {
  const [fastest] = ranked(players, price);
  const fewest = withFewest(players);
  const slower = fewest.filter((player) => shownGain(player, price) !== shownGain(fastest, price));
  if (!slower.length) return "";
  const names = together(
    fewest.map(({ name }) => name.toLowerCase()),
    says,
  );
  const width = Math.max(...slower.flatMap(({ passes }) => passes.map((pass) => pass.width)));
  const cost = (1 + price.more * (width - 1)).toFixed(1);
  const isTied = slower.length < fewest.length;
  return say(isTied ? says.as_few : says.fewest, { names, width, cost });
}
