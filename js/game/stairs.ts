// The stairs of an open game: the picture of its players, as far as they have come. Pure.

import type { Stairs } from "./picture";
import { playersOf, rivalsAtEnd } from "./play";
import { tokensOf } from "./score";
import { mostTokens, named } from "./sentences";
import { type Game, isPlaying } from "./state";
import type { Strings } from "./strings";

/** Pixels: the height of the stairs, the width of a narrow page, and the least width. */
const HEIGHT = { wide: 216, narrow: 206 };
const NARROW = 480;
const MIN_WIDTH = 260;
/** The results have as much more room. */
const TALLER = 1.35;
/**
 * The axis has room for as many times the tokens of the best other player up to the end of the
 * present text, and for some tokens.
 */
const ROOM = { times: 1.25, least: 30 };

/** The picture on so many pixels; while texts are played, with room for all of their passes. */
export function stairsOf(
  game: Game,
  room: number,
  strings: Strings,
  family: (source: string) => string,
): Stairs {
  const { play, price, morph } = game;
  const width = Math.max(MIN_WIDTH, room);
  const isNarrow = width < NARROW;
  const usual = isNarrow ? HEIGHT.narrow : HEIGHT.wide;
  const isToCome = (act: number) =>
    isPlaying(game) && (act > play.act || (act === play.act && game.phase !== "lesson"));
  const bands = play.passes.map((passes, act) =>
    isToCome(act) ? play.texts[act].passes : passes.length,
  );
  const soFar = { ...play, texts: play.texts.slice(0, play.act + 1) };
  const most = tokensOf(mostTokens(rivalsAtEnd(soFar)).passes);
  return {
    players: named(playersOf(play), strings),
    room: Math.max(ROOM.least, ROOM.times * most),
    price,
    width,
    isNarrow,
    height: isPlaying(game) ? usual : TALLER * usual,
    morph,
    family,
    bands,
    strings,
  };
}
