// The staircases of the drafter's game over target passes, and their description.
import { svg } from "lit-html";
import { axisX, axisY, type Frame, frameOf, spread } from "../lib/chart";
import { cut, plural } from "../lib/words";
import { drawRamp } from "../staircase/drawing";
import { afterPasses } from "./game";
import type { Racer } from "./state";

const SIZE = { height: 190, left: 34, top: 12, bottom: 24 };
/** Minimum width; width of the names as a share and at most; width of a letter. In pixels. */
const LEAST = 280;
const NAMES = { share: 0.34, most: 230 };
const LETTER = 7.6;
/** Minimum pixels between two names. */
const GAP = 15;
/** Minimum ranges of the axes, and number of passes shown after the visitor's last one. */
const AXES = { passes: 6, tokens: 6, ahead: 2 };
const FIRST =
  "Each verification is one pass of the target. Plain decoding gains one token per pass.";

/** Return the number of tokens of a player after 1, 2, 3, … passes, up to its last one. */
export const stairsOf = ({ counts }: Racer, passes: number): number[] =>
  counts.slice(0, passes).map((_, k) => afterPasses(counts, k + 1));

interface Point {
  x: number;
  y: number;
}
/** The line and name of a player; `isOwn`: it is the visitor. */
function lineTemplate(f: Frame, name: string, tokens: number[], place: Point, isOwn: boolean) {
  const steps = tokens.map((n, k) => `H${f.x(k + 1).toFixed(1)}V${f.y(n).toFixed(1)}`);
  return svg`<path class=${isOwn ? "hsd-df-you" : "hsd-df-other"}
      d=${`M${f.x(0)} ${f.y(0)}${steps.join("")}`}></path>
    <text class=${isOwn ? "hsd-df-name hsd-you" : "hsd-df-name"} x=${place.x}
      y=${place.y}>${name}</text>`;
}

/** The picture, `room` pixels wide. The first player is the visitor, whose line is on top. */
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

/** Describe the tokens of all players after the number of passes of the visitor. */
export function raceWords([you, ...others]: readonly Racer[]): string {
  const passes = you.counts.length;
  if (!passes) return FIRST;
  const tokens = afterPasses(you.counts, passes);
  const scores = others.map(({ name, counts }) => `${name} ${afterPasses(counts, passes)}`);
  const rate = `${(tokens / passes).toFixed(2)} per pass`;
  const ownWords = `You: ${plural(tokens, "token")} in ${plural(passes, "pass")}, ${rate}.`;
  return `${ownWords} In as many passes: ${[...scores, `plain ${passes}`].join(", ")}.`;
}
