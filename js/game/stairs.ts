// The stairs of an open game: the picture of its players, as far as they have come. Pure.

import type { Stairs } from "./picture";
import { aheadOf, isOver, MOST_PASSES, playersOf } from "./play";
import type { Says } from "./says";
import { named } from "./sentences";
import { type Game, isPlaying } from "./state";

/** Pixels: the height of the stairs, the width of a narrow page, and the least width. */
const HEIGHT = { wide: 248, narrow: 206 };
const NARROW = 480;
const LEAST = 260;
/** The results have as much more room. */
const TALLER = 1.35;

/** The picture on so many pixels; while a text is played, with the stairs to beat. */
export function stairsOf(
  game: Game,
  room: number,
  says: Says,
  family: (source: string) => string,
): Stairs {
  const { play, price, morph } = game;
  const width = Math.max(LEAST, room);
  const usual = width < NARROW ? HEIGHT.narrow : HEIGHT.wide;
  const hasMore = isPlaying(game) && !isOver(play);
  const bands = play.passes
    .slice(0, play.act + 1)
    .map((passes, act) => (hasMore && act === play.act ? MOST_PASSES : passes.length));
  return {
    players: named(playersOf(play), says),
    ahead: hasMore ? named(aheadOf(play), says) : [],
    price,
    width,
    height: isPlaying(game) ? usual : TALLER * usual,
    morph,
    family,
    bands,
    says,
  };
}
