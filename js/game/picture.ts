// The stairs of the game as a picture: one path for each player, over passes or over time, or
// between the two. All lines are at their own coordinates: where they overlap, each is narrower
// than the one below it.
import { html, nothing, svg } from "lit-html";
import { axisX, axisY, type Frame, frameOf } from "../lib/chart";
import { say } from "../lib/say";
import { columnsOfText } from "../lib/words";
import { type Block, blocksOf, blocksTemplate, figuresTemplate } from "./blocks";
import { keys } from "./idea";
import {
  type Corner,
  cornersOf,
  gainOf,
  type Player,
  type Price,
  ranked,
  timeTo,
  tokensOf,
} from "./score";
import type { Strings } from "./strings";

const SIZE = { top: 26, bottom: 44, left: 34 };
/** Room above the highest stair, as a share of it. */
const HEADROOM = 0.15;
/** Pixels of a line by its player: the visitor's is the widest and the lowest. */
export const WIDTHS = [4, 3, 2, 1.5];
/** Pixels of a letter of a name, at most, and between the names. */
const LETTER = 8;
const GAP = 18;

export interface Stairs {
  players: Player[];
  price: Price;
  width: number;
  height: number;
  /** 0: over passes, 1: over time; between the two the one becomes the other. */
  morph: number;
  family: (source: string) => string;
  /** The tokens for which the axis has room from the start, so that stairs keep their heights. */
  room: number;
  /** The passes at each text, those that are left included. */
  bands: number[];
  strings: Strings;
}

const ZERO: Corner = { passes: 0, ns: 0, low: 0, high: 0, all: 0 };

/** The SVG path of a player's corners. */
export function pathOf(
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
): string {
  const steps = corners.map((corner) => `H${x(corner).toFixed(1)}V${y(corner.high).toFixed(1)}`);
  return `M${x(ZERO).toFixed(1)} ${y(0).toFixed(1)}${steps.join("")}`;
}

/** The SVG path of the band from a player's corners up to all tokens, those filled in included. */
export function bandOf(
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
): string {
  const above = corners.map((corner) => ({ ...corner, high: corner.all }));
  const back = corners.slice(0, -1).reverse();
  const steps = back.map((corner) => `V${y(corner.high).toFixed(1)}H${x(corner).toFixed(1)}`);
  return `${pathOf(above, x, y)}${steps.join("")}V${y(0).toFixed(1)}Z`;
}

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
  /** The same with x in passes or in nanoseconds. */
  scale: Frame;
  isOverTime: boolean;
  /** The most tokens of a player, which all lines reach over time. */
  goal: number;
  x(corner: Corner): number;
  ends: Point[];
  /** Where each line reaches the goal at its own rate. */
  finishes: Point[];
  names: Point[];
  /** What each pass of the visitor brought. */
  blocks: Block[];
}

/** The stairs: over passes those of the score, over time those of all tokens. */
const drawnOf = ({ players, price, morph }: Stairs): Drawn[] =>
  players.map((player) => {
    const corners = cornersOf(player.passes, price).map((corner) => ({
      ...corner,
      high: corner.high + morph * (corner.all - corner.high),
    }));
    return { ...player, corners };
  });

/** The frame; each name has room for its figure from the start, so that the axis does not move. */
function frameFor({ players, morph, width, height, room }: Stairs, goal: number): Frame {
  const widest = Math.max(...players.map(({ name }) => columnsOfText(`${name} 0.00 ×`)));
  const size = {
    ...SIZE,
    top: SIZE.top + morph * GAP * players.length,
    right: LETTER * widest + 8,
    width,
    height,
  };
  const most = Math.max(room, goal * (1 + HEADROOM));
  return frameOf(size, 1, (1 - morph) * most + morph * goal);
}

/**
 * Places of the names: over passes in a column on the right, over time above the ends of the
 * lines. The earlier an end, the higher its name: no leader crosses a name.
 */
function namePlaces(
  { price }: Stairs,
  { drawn, frame, isOverTime, ends, finishes }: Omit<Layout, "names">,
): Point[] {
  if (!isOverTime) {
    const rows = column(
      ends.map(({ y }) => y + 4),
      frame.foot + 4,
    );
    return rows.map((y) => ({ x: frame.end + 14, y }));
  }
  const order = ranked(drawn, price);
  return finishes.map(({ x, y }, k) => {
    const row = drawn.length - 1 - order.indexOf(drawn[k]);
    return { x: x + 5, y: y - 8 - GAP * row };
  });
}

export function layoutOf(stairs: Stairs): Layout {
  const { players, price, morph, bands } = stairs;
  const drawn = drawnOf(stairs);
  const goal = Math.max(1, ...players.map(({ passes }) => tokensOf(passes)));
  const passes = Math.max(
    3,
    bands.reduce((sum, band) => sum + band, 0),
  );
  const times = players.map((player) => timeTo(goal, player.passes, price));
  const ns = Math.max(1, ...times);
  const isOverTime = morph >= 0.5;

  const frame = frameFor(stairs, goal);
  const share = (corner: Corner) =>
    (1 - morph) * (corner.passes / passes) + morph * (corner.ns / ns);
  const x = (corner: Corner) => frame.x(share(corner));
  const layout = {
    drawn,
    frame,
    scale: frameOf(frame, isOverTime ? ns : passes, frame.mostY),
    isOverTime,
    goal,
    x,
    ends: drawn.map(({ corners }) => {
      const last = corners.at(-1) ?? ZERO;
      return { x: x(last), y: frame.y(last.high) };
    }),
    finishes: times.map((time) => ({ x: frame.x(time / ns), y: frame.y(goal) })),
    blocks: blocksOf(drawn[0].corners, x, frame.y, x(ZERO)),
  };
  return { ...layout, names: namePlaces(stairs, layout) };
}

/** A player's name, with its tokens or its gain. */
function nameOf({ name, corners, passes }: Drawn, price: Price, isOverTime: boolean) {
  if (isOverTime) return `${name} ${gainOf(passes, price).toFixed(2)} ×`;
  return `${name} ${corners.at(-1)?.high ?? 0}`;
}

/** The line from the end of a player's stairs to its name. */
function leaderOf({ frame, isOverTime, ends, finishes, names }: Layout, k: number): string {
  if (isOverTime) return `M${finishes[k].x} ${finishes[k].y}V${names[k].y - 10}`;
  return `M${ends[k].x} ${ends[k].y}H${frame.end}L${names[k].x - 3} ${names[k].y - 4}`;
}

/** The stairs of a player; over time the rest to the goal is dashed. */
function stairTemplate({ family, morph, price }: Stairs, layout: Layout, k: number) {
  const { drawn, frame, isOverTime, x, ends, finishes, names } = layout;
  const player = drawn[k];
  const isPlain = player.source === "target";
  const kind = k ? "hsd-gm-stair" : "hsd-gm-stair hsd-gm-you";
  const path = (corners: Corner[]) => pathOf(corners, x, frame.y);
  const rest = `M${ends[k].x} ${ends[k].y}L${finishes[k].x} ${finishes[k].y}`;
  const dashed = svg`<path stroke-width="2" stroke-dasharray="5 4" d=${rest}></path>`;
  return svg`<g class=${isPlain ? `${kind} hsd-gm-plain` : kind}
    data-family=${k ? family(player.source) : "none"} stroke-width=${WIDTHS[k] ?? 1.5}
    ><path d=${path(player.corners)}></path
    >${morph === 1 ? dashed : nothing}<path stroke-width="1" stroke-dasharray="1 2"
      d=${leaderOf(layout, k)}></path
    ><text x=${names[k].x} y=${names[k].y}>${nameOf(player, price, isOverTime)}</text></g>`;
}

/** The places where texts begin and end, in passes. */
export function endsOf(bands: readonly number[]): number[] {
  const ends = [0];
  for (const passes of bands) if (passes) ends.push(ends[ends.length - 1] + passes);
  return ends;
}

/** What was filled in for the visitor, as a band on the stairs. */
function bandTemplate({ drawn, x, frame }: Layout) {
  return svg`<path class="hsd-gm-band hsd-gm-key-filled"
    d=${bandOf(drawn[0].corners, x, frame.y)}></path>`;
}

/** The axis of passes, with numbers where texts end, or of time in plain passes. */
function acrossTemplate(stairs: Stairs, { scale, isOverTime }: Layout) {
  const { width, bands, morph, price, strings } = stairs;
  const ends = endsOf(bands).map(
    (passes) =>
      svg`<text class="hsd-tick" x=${scale.x(passes)} y=${scale.foot + 16}
        text-anchor="middle">${passes}</text>`,
  );
  // While the one becomes the other, there are no numbers.
  if (morph > 0 && morph < 1) return nothing;
  const inPasses = { ...scale, mostX: scale.mostX / price.one };
  const parts = Math.max(2, width / 160);
  const times = axisX({ ...inPasses, x: (value) => scale.x(value * price.one) }, parts, String);
  const numbers = isOverTime ? times : ends;
  return svg`${numbers}<text class="hsd-axis" x=${scale.end} y=${scale.foot + 36}
    text-anchor="end"
    >${isOverTime ? strings.time : strings.passes}</text>`;
}

/** The bands of the texts behind the stairs over passes. */
function bandTemplates({ bands, strings }: Stairs, { scale }: Layout) {
  let from = 0;
  return bands.map((passes, k) => {
    const left = scale.x(from);
    from += passes;
    const right = scale.x(from);
    return svg`<rect fill="currentColor" opacity=${k % 2 ? 0.08 : 0.03} x=${left} y=${scale.top}
      width=${right - left} height=${scale.foot - scale.top}></rect
      ><text class="hsd-axis" x=${(left + right) / 2} y=${scale.top - 9} text-anchor="middle"
      >${say(strings.band, { act: k + 1 })}</text>`;
  });
}

/** The line of the goal, over time. */
function goalTemplate({ width, strings }: Stairs, { frame, goal }: Layout) {
  const y = frame.y(goal);
  return svg`<path stroke="currentColor" d="M${frame.left} ${y}H${width}"></path
    ><text class="hsd-axis" x=${width} y=${y + 15} text-anchor="end"
    >${goal} ${strings.tokens}</text>`;
}

/** What will be in the picture, before the first pass. */
const emptyTemplate = ({ strings }: Stairs, { frame }: Layout) =>
  svg`<text class="hsd-axis" x=${(frame.left + frame.end) / 2} y=${(frame.top + frame.foot) / 2}
    text-anchor="middle">${strings.will_grow}</text>`;

/**
 * The picture. Over passes, the names are in a column on the right. Over time, all lines continue
 * at their own rates to the most tokens of one, and the names are above their ends.
 */
export function stairsPicture(stairs: Stairs) {
  const { players, width, height, morph, strings } = stairs;
  const layout = layoutOf(stairs);
  const isBegun = players[0].passes.length > 0;
  // Over time no pass has room for its parts.
  const hasParts = isBegun && !morph;
  const lines = isBegun
    ? layout.drawn.map((_, k) => stairTemplate(stairs, layout, k))
    : emptyTemplate(stairs, layout);
  return html`<svg
    class="hsd-gm-picture"
    width=${width}
    height=${height}
    viewBox="0 0 ${width} ${height}"
    aria-hidden="true"
  >
    ${morph ? nothing : bandTemplates(stairs, layout)}${axisY(
      layout.frame,
      4,
      String,
      strings.tokens,
    )}${acrossTemplate(stairs, layout)}${
      layout.isOverTime ? goalTemplate(stairs, layout) : nothing
    }${hasParts ? [bandTemplate(layout), blocksTemplate(layout.blocks)] : nothing}${lines}${
      hasParts ? figuresTemplate(layout.blocks) : nothing
    }
  </svg>
    ${hasParts ? keys(strings) : nothing}`;
}
