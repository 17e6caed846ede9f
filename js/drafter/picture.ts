// The staircases of the drafter's game over target passes, and what they say.
import { svg } from "lit-html";
import { axisX, axisY, type Frame, frameOf, spread } from "../lib/chart";
import { cut, plural } from "../lib/words";
import { drawRamp } from "../staircase/drawing";
import { afterPasses } from "./game";
import type { Racer } from "./state";

const SIZE = { height: 190, left: 34, top: 12, bottom: 24 };
/** The least width, that of names as a share of it and at most, and of a letter. */
const LEAST = 280;
const NAMES = { share: 0.34, most: 230 };
const LETTER = 7.6;
/** Pixels between two names. */
const GAP = 15;
/** The least passes and tokens of the axes, and passes after the visitor's last one. */
const AXES = { passes: 6, tokens: 6, ahead: 2 };
const FIRST =
  "Each verification is one pass of the target. Plain decoding gains one token per pass.";

/** The tokens of a player after 1, 2, 3, ... passes, as far as there are any. */
export const stairsOf = ({ counts }: Racer, passes: number): number[] =>
  counts.slice(0, passes).map((_, k) => afterPasses(counts, k + 1));

interface Point {
  x: number;
  y: number;
}
/** A player's line and name; `isOwn`: the visitor's. */
function lineTemplate(f: Frame, name: string, tokens: number[], place: Point, isOwn: boolean) {
  const steps = tokens.map((n, k) => `H${f.x(k + 1).toFixed(1)}V${f.y(n).toFixed(1)}`);
  return svg`<path class=${isOwn ? "hsd-df-you" : "hsd-df-other"}
      d=${`M${f.x(0)} ${f.y(0)}${steps.join("")}`}></path>
    <text class=${isOwn ? "hsd-df-name hsd-you" : "hsd-df-name"} x=${place.x}
      y=${place.y}>${name}</text>`;
}

/** The picture on so many pixels; the visitor is the first player, whose line is above all. */
export function racePicture(players: readonly Racer[], room: number) {
  const [{ counts }] = players;
  const passes = Math.max(AXES.passes, counts.length + AXES.ahead);
  const stairs = players.map((player) => stairsOf(player, passes));
  const width = Math.max(LEAST, room);
  const right = Math.min(NAMES.most, NAMES.share * width);
  const f = frameOf({ ...SIZE, width, right }, passes, Math.max(AXES.tokens, ...stairs.flat()));
  const ends = stairs.map((tokens) => ({
    x: f.x(tokens.length) + 6,
    y: f.y(tokens.at(-1) ?? 0) + (tokens.length ? 4 : -6),
  }));
  const places = spread(ends, GAP);
  const letters = Math.floor(right / LETTER);
  const height = Math.max(SIZE.height, ...places.map(({ y }) => y + 8));
  const across = axisX({ ...f, width: f.end + 60 }, 3, String, "passes");
  const lines = players.map(({ name }, k) =>
    lineTemplate(f, cut(name, letters), stairs[k], places[k], k === 0),
  );
  return svg`<svg class="hsd-stairs" width=${width} height=${height} aria-hidden="true">
    ${axisY(f, 3)}${across}${drawRamp(f, passes, passes)}
    ${lines.reverse()}</svg>`;
}

/** The tokens of all players after the visitor's passes. */
export function raceWords([you, ...others]: readonly Racer[]): string {
  const passes = you.counts.length;
  if (!passes) return FIRST;
  const tokens = afterPasses(you.counts, passes);
  const scores = others.map(({ name, counts }) => `${name} ${afterPasses(counts, passes)}`);
  const rate = `${(tokens / passes).toFixed(2)} per pass`;
  const own = `You: ${plural(tokens, "token")} in ${plural(passes, "pass")}, ${rate}.`;
  return `${own} In as many passes: ${[...scores, `plain ${passes}`].join(", ")}.`;
}
