// Sentences of the game about its figures: the result of a pass, of a text, and of the times. Pure.
import { say } from "../lib/say";
import type { Token } from "../lib/tables";
import type { Played } from "./run";
import {
  breakEven,
  filledIn,
  gainOf,
  keptOf,
  keptPerPass,
  type Player,
  type Price,
  passCost,
  ranked,
  tokensOf,
} from "./score";
import type { Strings } from "./strings";
import { partsOf, shownText } from "./words";

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

/** What a pass brought, and what plain decoding needs for it. */
export function gainText(
  pass: Played,
  tokens: readonly Pick<Token, "token_id" | "text">[],
  strings: Strings,
): string {
  const { words, pieces, filled } = partsOf(tokens, pass.at, pass);
  if (pass.words.length && !words) return strings.none_right;
  const more = filled ? ` ${say(strings.plus_filled, { filled })}` : "";
  const gained = say(strings.gained, { tokens: words + pieces + 1, more });
  return words ? `${gained} ${say(strings.instead, { passes: pass.accepted + 1 })}` : gained;
}

/** The result of the words of a pass, and what the model wrote after them. */
export function summaryOf(
  pass: Played,
  tokens: readonly Pick<Token, "token_id" | "text">[],
  strings: Strings,
): string {
  const { at, own, words } = pass;
  const model = wordOf(tokens, own);
  if (!words.length) return say(strings.wrote_alone, { model });
  const word = struckOf(pass);
  return say(strings.outcome, {
    right: partsOf(tokens, at, pass).words,
    words: words.length,
    rejected: word ? say(strings.rejected, { word }) : "",
    model,
  });
}

/** The player with the most tokens; the first of equals. */
export const mostTokens = (players: readonly Player[]): Player =>
  players.reduce((best, one) => (tokensOf(one.passes) > tokensOf(best.passes) ? one : best));

/** Who has the best score in as many passes: the visitor, who is the first, or another one. */
export function verdictOf([you, ...others]: readonly Player[], strings: Strings): string {
  const best = mostTokens(others);
  const yours = keptOf(you.passes);
  const theirs = keptOf(best.passes);
  const values = { yours, theirs, name: best.name, passes: you.passes.length };
  if (yours > theirs) return say(strings.win, values);
  return say(yours === theirs ? strings.tie : strings.lose, values);
}

/** How many tokens were filled in for the visitor, which do not count; "": none. */
export function filledText({ passes }: Pick<Player, "passes">, strings: Strings): string {
  const filled = filledIn(passes);
  return filled ? say(strings.filled_for_you, { filled }) : "";
}

/** How many tokens were filled in for the visitor in a pass, on average; "": none. */
export function filledPerPass({ passes }: Pick<Player, "passes">, strings: Strings): string {
  const filled = filledIn(passes);
  return filled ? say(strings.plus_filled, { filled: (filled / passes.length).toFixed(1) }) : "";
}

/** How the best other player won or came close by copying, or that nothing could be copied. */
export function rivalText([, ...others]: readonly Player[], strings: Strings): string {
  const copying = others.find(({ source }) => source === COPYING);
  if (!copying) return "";
  const most = Math.max(...copying.passes.map(({ tokens }) => tokens));
  if (most <= 1) return strings.no_copy;
  return copying === mostTokens(others) ? say(strings.why_copying, { most }) : "";
}

/** The first rejected word of some passes, and what the model wrote; "": none was rejected. */
export function fateText(
  passes: readonly Played[],
  tokens: readonly Pick<Token, "text">[],
  strings: Strings,
): string {
  const wrong = passes.find(struckOf);
  if (wrong) {
    const model = wordOf(tokens, wrong.own);
    return say(strings.one_wrong, { word: struckOf(wrong) ?? "", model });
  }
  return "";
}

/** A player within a sentence. */
const within = ({ name, source }: Player, strings: Strings): string =>
  source === "target" ? strings.plain_decoding : name.toLowerCase();

/** How many times as fast as plain decoding, as it is shown. */
export const shownGain = ({ passes }: Player, price: Price): string =>
  gainOf(passes, price).toFixed(2);

/** How many times as long as another player one takes for as many tokens, as it is shown. */
function shownTimes(slow: Player, fast: Player, price: Price): number {
  const times = gainOf(fast.passes, price) / gainOf(slow.passes, price);
  return Number(times.toFixed(2));
}

interface Trap {
  /** A player with at least as many tokens per pass as the other one, but slower than it. */
  slow: Player;
  fast: Player;
  /** Whether both have as many tokens per pass. */
  isTied: boolean;
}
/**
 * The pairs of players of whom the one with as many passes or fewer is the slower one: first with
 * the fastest, and then with the fewest passes.
 */
function trapsOf(players: readonly Player[], price: Price): Trap[] {
  const bySpeed = ranked(players, price);
  const byPasses = [...players].sort((a, b) => keptPerPass(b.passes) - keptPerPass(a.passes));
  const traps: Trap[] = [];
  for (const fast of bySpeed)
    for (const slow of byPasses) {
      const isSlower = shownTimes(slow, fast, price) > 1;
      const more = keptPerPass(slow.passes) - keptPerPass(fast.passes);
      if (isSlower && more >= 0) traps.push({ slow, fast, isTied: more === 0 });
    }
  return traps;
}

/** The values of a sentence about a trap. */
function trapValues({ slow, fast, isTied }: Trap, price: Price, strings: Strings) {
  // Of equals the costs are close to each other.
  const digits = isTied ? 2 : 1;
  return {
    slow: within(slow, strings),
    fast: within(fast, strings),
    times: shownTimes(slow, fast, price),
    tokens: keptPerPass(slow.passes).toFixed(1),
    cost: passCost(slow.passes, price).toFixed(digits),
    other: passCost(fast.passes, price).toFixed(digits),
  };
}

/** How fast the visitor is, and why. */
function yourSpeed(you: Player, price: Price, strings: Strings): string {
  const gain = Number(shownGain(you, price));
  if (gain === 1) return strings.you_equal;
  const values = {
    tokens: keptPerPass(you.passes).toFixed(1),
    cost: passCost(you.passes, price).toFixed(1),
  };
  return say(gain > 1 ? strings.you_faster : strings.you_slower, values);
}

/** That fewer passes are faster at a price, and at which one they are no longer so. */
function withoutTrap(players: readonly Player[], price: Price, strings: Strings): string {
  const share = (more: number) => (100 * more).toFixed(0);
  const words = say(strings.are_faster, { share: share(price.more) });
  const turns = players
    .map((player) => ({ player, more: breakEven(player.passes, price) }))
    .filter(({ more }) => more > price.more && more < 1)
    .sort((a, b) => a.more - b.more);
  if (!turns.length) return words;
  const [{ player, more }] = turns;
  return `${words} ${say(strings.turns_at, { share: share(more), slow: within(player, strings) })}`;
}

/** How fast the visitor is, who is the first player, and whether fewer passes are faster. */
export function timeText(
  players: readonly Player[],
  price: Price,
  strings: Strings,
): { head: string; why: string } {
  const [you] = players;
  const head = yourSpeed(you, price, strings);
  const traps = trapsOf(players, price);
  const isYours = ({ slow, fast }: Trap) => slow === you || fast === you;
  const tie = traps.find((trap) => trap.isTied && isYours(trap));
  const trap = traps.find(({ isTied }) => !isTied) ?? tie ?? traps[0];
  if (!trap) return { head, why: withoutTrap(players, price, strings) };
  const values = trapValues(trap, price, strings);
  if (trap.isTied) return { head, why: say(strings.as_few, values) };
  const sentences = [say(strings.not_faster, values), say(strings.fewer, values)];
  if (tie) sentences.push(say(strings.as_few, trapValues(tie, price, strings)));
  return { head, why: sentences.join(" ") };
}
