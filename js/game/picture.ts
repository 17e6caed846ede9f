// The stairs of the game as a picture: one path for each player, over passes or over time, or
// between the two. All lines are at their own coordinates: where they overlap, each is narrower
// than the one below it.
import { html, nothing, svg } from "lit-html";
import { axisX, axisY, type Frame, frameOf } from "../lib/chart";
import { say } from "../lib/say";
import { columnsOfText } from "../lib/words";
import { type Corner, cornersOf, type Player, type Price, ranked, timeTo, tokensOf } from "./score";
import type { Strings } from "./strings";

const SIZE = { top: 26, bottom: 44, left: 34 };
/** Pixels of a figure beside stairs that have no room for names. */
const FIGURE = 36;
/** Pixels of a line by its player: the visitor's is the widest and the lowest. */
export const WIDTHS = [4, 3, 2, 1.5];
/** Pixels of a letter of a name, at most, and between the names. */
const LETTER = 8;
const GAP = 18;

export interface Stairs {
  players: Player[];
  price: Price;
  width: number;
  /** Whether the stairs are too narrow for names at their ends. */
  isNarrow: boolean;
  height: number;
  /** Whether the axis is that of time, to which the stairs turn. */
  isTimed: boolean;
  /** The stairs: 0 over passes, 1 over time; between the two the one becomes the other. */
  morph: number;
  family: (source: string) => string;
  /** The passes at each text. */
  bands: number[];
  strings: Strings;
}

const ZERO: Corner = { passes: 0, ns: 0, low: 0, high: 0, filled: [] };

/** The SVG path of a player's corners. */
export function pathOf(
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
): string {
  const steps = corners.map((corner) => `H${x(corner).toFixed(1)}V${y(corner.high).toFixed(1)}`);
  return `M${x(ZERO).toFixed(1)} ${y(0).toFixed(1)}${steps.join("")}`;
}

/** The SVG path of the tokens that were filled in, on a player's risers. */
export const filledPath = (
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
): string =>
  corners
    .flatMap((corner) =>
      corner.filled.map((isFilled, k) => {
        const [from, to] = [corner.low + k, corner.low + k + 1].map((at) => y(at).toFixed(1));
        return isFilled ? `M${x(corner).toFixed(1)} ${from}V${to}` : "";
      }),
    )
    .join("");

/** Places of names in a column, in the order of their lines, GAP apart and not below `foot`. */
export function column(ends: readonly number[], foot: number): number[] {
  const order = [...ends.keys()].sort((a, b) => ends[a] - ends[b]);
  const places = [...ends];
  let least = -Infinity;
  for (const k of order) {
    places[k] = Math.max(ends[k], least);
    least = places[k] + GAP;
  }
  let most = foot;
  for (const k of order.reverse()) {
    places[k] = Math.min(places[k], most);
    most = places[k] - GAP;
  }
  return places;
}

/** A player with its stairs. */
interface Drawn extends Player {
  corners: Corner[];
}
interface Point {
  x: number;
  y: number;
}
/** The scales of the picture, and the places of its lines and names by the players. */
interface Layout {
  drawn: Drawn[];
  /** The scale of tokens; its x is 0 … 1. */
  frame: Frame;
  /** The same with x in passes. */
  scale: Frame;
  /** The time of the picture, in passes of plain decoding. */
  plainPasses: number;
  isOverTime: boolean;
  /** The best score of a player, as high as the picture: all lines reach it over time. */
  goal: number;
  x(corner: Corner): number;
  ends: Point[];
  /** Where each line reaches the goal at its own rate. */
  finishes: Point[];
  names: Point[];
}

/** Pixels of a name with its figure. */
const widthOf = ({ name }: Pick<Player, "name">) => LETTER * columnsOfText(`${name} 100`);

/**
 * The frame; each name has room for its figure from the start, so that the axis does not move. Over
 * time the names are above the stairs, which keep their heights.
 */
function frameFor({ players, morph, width, height, isNarrow }: Stairs, goal: number): Frame {
  const names = isNarrow ? 0 : morph * GAP * players.length;
  const size = {
    ...SIZE,
    top: (1 - morph) * SIZE.top + names,
    right: isNarrow ? FIGURE : Math.max(...players.map(widthOf)),
    width,
    height: height - morph * SIZE.top + names,
  };
  return frameOf(size, 1, goal);
}

/**
 * Places of the names: over passes in a column on the right; over time above the ends of the lines.
 * The earlier an end, the higher its name: no leader crosses a name.
 */
function namePlaces(
  { price, isNarrow }: Stairs,
  { drawn, frame, isOverTime, ends, finishes }: Omit<Layout, "names">,
): Point[] {
  if (isOverTime) {
    const order = ranked(drawn, price);
    return finishes.map(({ x, y }, k) => {
      const row = drawn.length - 1 - order.indexOf(drawn[k]);
      return { x: x + 5, y: y - 8 - GAP * row };
    });
  }
  const rows = column(
    ends.map(({ y }) => y + 4),
    frame.foot + 4,
  );
  return rows.map((y) => ({ x: frame.end + (isNarrow ? 10 : 14), y }));
}

export function layoutOf(stairs: Stairs): Layout {
  const { players, price, morph, bands } = stairs;
  const drawn = players.map((player) => ({ ...player, corners: cornersOf(player.passes, price) }));
  const goal = Math.max(1, ...players.map(({ passes }) => tokensOf(passes)));
  const passes = Math.max(
    3,
    bands.reduce((sum, band) => sum + band, 0),
  );
  const times = players.map((player) => timeTo(goal, player.passes, price));
  const ns = Math.max(1, ...times);
  const isOverTime = morph === 1;

  const frame = frameFor(stairs, goal);
  const share = (corner: Corner) =>
    (1 - morph) * (corner.passes / passes) + morph * (corner.ns / ns);
  const x = (corner: Corner) => frame.x(share(corner));
  const layout = {
    drawn,
    frame,
    scale: frameOf(frame, passes, frame.mostY),
    plainPasses: ns / price.one,
    isOverTime,
    goal,
    x,
    ends: drawn.map(({ corners }) => {
      const last = corners.at(-1) ?? ZERO;
      return { x: x(last), y: frame.y(last.high) };
    }),
    finishes: times.map((time) => ({ x: frame.x(time / ns), y: frame.y(goal) })),
  };
  return { ...layout, names: namePlaces(stairs, layout) };
}

/**
 * A player's name, over passes with its tokens, or its tokens alone where the picture is narrow.
 * The gains over time are those of the standings.
 */
function nameOf({ name, passes }: Drawn, isNarrow: boolean, isOverTime: boolean) {
  if (isOverTime) return name;
  return isNarrow ? tokensOf(passes) : `${name} ${tokensOf(passes)}`;
}

/** The line from the end of a player's stairs to its name. */
function leaderOf({ isOverTime, ends, finishes, names }: Layout, k: number): string {
  if (isOverTime) return `M${finishes[k].x} ${finishes[k].y}V${names[k].y - 10}`;
  return `M${ends[k].x} ${ends[k].y}L${names[k].x - 3} ${names[k].y - 4}`;
}

/** The stairs of a player; over time the rest to the goal is dashed. */
function stairTemplate({ family, isNarrow }: Stairs, layout: Layout, k: number) {
  const { drawn, frame, isOverTime, x, ends, finishes, names } = layout;
  const player = drawn[k];
  const isPlain = player.source === "target";
  const kind = k ? "hsd-gm-stair" : "hsd-gm-stair hsd-gm-you";
  const path = (corners: Corner[]) => pathOf(corners, x, frame.y);
  const rest = `M${ends[k].x} ${ends[k].y}L${finishes[k].x} ${finishes[k].y}`;
  // Where it is narrow, the names and the gains are those of the standings.
  const isNamed = !(isNarrow && isOverTime);
  const dashed = svg`<path stroke-width="2" stroke-dasharray="5 4" d=${rest}></path>`;
  const name = svg`<path stroke-width="1" stroke-dasharray="1 2"
      d=${leaderOf(layout, k)}></path
    ><text x=${names[k].x} y=${names[k].y}>${nameOf(player, isNarrow, isOverTime)}</text>`;
  return svg`<g class=${isPlain ? `${kind} hsd-gm-plain` : kind}
    data-family=${k ? family(player.source) : "none"} stroke-width=${WIDTHS[k] ?? 1.5}
    ><path d=${path(player.corners)}></path
    ><path class="hsd-gm-filled" d=${filledPath(player.corners, x, frame.y)}></path
    >${isOverTime ? dashed : nothing}${isNamed ? name : nothing}</g>`;
}

/** The places where texts begin and end, in passes. */
export function endsOf(bands: readonly number[]): number[] {
  const ends = [0];
  for (const passes of bands) if (passes) ends.push(ends[ends.length - 1] + passes);
  return ends;
}

/**
 * The axis of passes, with a number for each, or of time in passes of plain decoding. While the
 * stairs turn, it is that of time without numbers.
 */
function acrossTemplate({ width, isTimed, strings }: Stairs, layout: Layout) {
  const { frame, scale, plainPasses, isOverTime } = layout;
  const passes = Array.from(
    { length: scale.mostX + 1 },
    (_, k) =>
      svg`<text class="hsd-tick" x=${scale.x(k)} y=${frame.foot + 16}
        text-anchor="middle">${k}</text>`,
  );
  const times = axisX(frameOf(frame, plainPasses, 1), Math.max(2, width / 160), String);
  const numbers = isTimed ? nothing : passes;
  return svg`${isOverTime ? times : numbers}<text class="hsd-axis" x=${frame.end}
    y=${frame.foot + 36} text-anchor="end">${isTimed ? strings.time : strings.passes}</text>`;
}

/** The names of the texts above the stairs over passes, and lines between them. */
function textTemplates({ bands, strings }: Stairs, { scale }: Layout) {
  const ends = endsOf(bands);
  return ends.slice(1).map((end, act) => {
    const left = scale.x(ends[act]);
    const line = svg`<path stroke="var(--line)"
      d="M${left} ${scale.top - 22}V${scale.foot}"></path>`;
    return svg`${act ? line : nothing}<text class="hsd-axis" x=${(left + scale.x(end)) / 2}
      y=${scale.top - 10} text-anchor="middle">${say(strings.band, { act: act + 1 })}</text>`;
  });
}

/** The line of the goal, over time. */
const goalTemplate = ({ width }: Stairs, { frame, goal }: Layout) =>
  svg`<path stroke="currentColor" d="M${frame.left} ${frame.y(goal)}H${width}"></path>`;

/**
 * The picture. Over passes, the names are on the right. Over time, all lines continue at their own
 * rates to the best score, and the names are above their ends.
 */
export function stairsPicture(stairs: Stairs) {
  const { width, isTimed, strings } = stairs;
  const layout = layoutOf(stairs);
  const { frame, isOverTime, goal } = layout;
  const name = svg`<text class="hsd-axis" x=${frame.left + 6} y=${frame.top + 17}
    >${isOverTime ? goal : nothing} ${strings.tokens}</text>`;
  return html`<svg
    class="hsd-gm-picture"
    width=${width}
    height=${frame.height}
    viewBox="0 0 ${width} ${frame.height}"
    aria-hidden="true"
  >
    ${isTimed ? nothing : textTemplates(stairs, layout)}${axisY(frame, 4)}${acrossTemplate(
      stairs,
      layout,
    )}${isOverTime ? goalTemplate(stairs, layout) : nothing}${name}${layout.drawn.map((_, k) =>
      stairTemplate(stairs, layout, k),
    )}
  </svg>`;
}
