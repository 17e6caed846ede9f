// The stairs of a game: the picture of its players, over passes or over time. Pure.

import type { Stairs } from "./picture";
import { playersOf } from "./play";
import { named } from "./sentences";
import type { Game } from "./state";
import type { Strings } from "./strings";

/** Pixels: the height of the stairs, the width of a narrow page, and the least width. */
const HEIGHT = 250;
const NARROW = 480;
const MIN_WIDTH = 260;

/** The picture on so many pixels. */
export function stairsOf(
  { play, phase, price, morph }: Game,
  room: number,
  strings: Strings,
  family: (source: string) => string,
): Stairs {
  const width = Math.max(MIN_WIDTH, room);
  return {
    players: named(playersOf(play), strings),
    price,
    width,
    isNarrow: width < NARROW,
    height: HEIGHT,
    isTimed: phase === "time",
    morph,
    family,
    bands: play.passes.map((passes) => passes.length),
    strings,
  };
}
