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
  keptOf,
  type Player,
  type Price,
  ranked,
  timeTo,
  tokensOf,
} from "./score";
import { mostTokens } from "./sentences";
import type { Strings } from "./strings";

const SIZE = { top: 26, bottom: 44, left: 34, right: 8 };
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
  /** Names are within the picture, which has no room beside it. */
  isNarrow: boolean;
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
/** The place of a name, which begins or ends there. */
interface NamePlace extends Point {
  anchor: "start" | "end";
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
  /** The best score of a player, which all lines reach over time. */
  goal: number;
  x(corner: Corner): number;
  ends: Point[];
  /** Where each line reaches the goal at its own rate. */
  finishes: Point[];
  names: NamePlace[];
  /** What each pass of the visitor brought. */
  blocks: Block[];
}

/** Pixels of a name with its figure. */
const widthOf = ({ name }: Pick<Player, "name">) => LETTER * columnsOfText(`${name} 0.00 ×`);

/** The frame; each name has room for its figure from the start, so that the axis does not move. */
function frameFor({ players, morph, width, height, room, isNarrow }: Stairs, goal: number): Frame {
  const size = {
    ...SIZE,
    top: SIZE.top + morph * GAP * players.length,
    right: SIZE.right + (isNarrow ? 0 : Math.max(...players.map(widthOf))),
    width,
    height,
  };
  // Over passes it has room for what was filled in, too.
  const all = Math.max(...players.map(({ passes }) => tokensOf(passes)));
  const most = Math.max(room, all * (1 + HEADROOM));
  return frameOf(size, 1, (1 - morph) * most + morph * goal);
}

/** A name that begins at a place, or ends there where it has no room to the right. */
function nameAt(player: Player, frame: Frame, { x, y }: Point, gap: number): NamePlace {
  const hasRoom = x + gap + widthOf(player) <= frame.width;
  return hasRoom ? { x: x + gap, y, anchor: "start" } : { x: x - gap, y, anchor: "end" };
}

/**
 * Places of the names: over passes in a column on the right, or at the ends of the lines where the
 * picture is narrow; over time above the ends of the lines. The earlier an end, the higher its
 * name: no leader crosses a name.
 */
function namePlaces(
  { price, isNarrow }: Stairs,
  { drawn, frame, isOverTime, ends, finishes }: Omit<Layout, "names">,
): NamePlace[] {
  if (isOverTime) {
    const order = ranked(drawn, price);
    return finishes.map(({ x, y }, k) => {
      const row = drawn.length - 1 - order.indexOf(drawn[k]);
      return nameAt(drawn[k], frame, { x, y: y - 8 - GAP * row }, 5);
    });
  }
  const rows = column(
    ends.map(({ y }) => y + 4),
    frame.foot + 4,
  );
  return rows.map((y, k) => {
    if (!isNarrow) return { x: frame.end + 14, y, anchor: "start" };
    const name = nameAt(drawn[k], frame, { x: ends[k].x, y }, 8);
    // On the line's last step, not through it.
    return name.anchor === "end" ? { ...name, y: y - 9 } : name;
  });
}

export function layoutOf(stairs: Stairs): Layout {
  const { players, price, morph, bands } = stairs;
  const drawn = players.map((player) => ({ ...player, corners: cornersOf(player.passes, price) }));
  const goal = Math.max(1, ...players.map(({ passes }) => keptOf(passes)));
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
    blocks: blocksOf(drawn[0].corners, x, frame.y, x(ZERO)),
  };
  return { ...layout, names: namePlaces(stairs, layout) };
}

/** A player's name, with its tokens or its gain. */
function nameOf({ name, corners, passes }: Drawn, price: Price, isOverTime: boolean) {
  if (isOverTime) return `${name} ${gainOf(passes, price).toFixed(2)} ×`;
  return `${name} ${Math.round(corners.at(-1)?.high ?? 0)}`;
}

/** The line from the end of a player's stairs to its name. */
function leaderOf({ frame, isOverTime, ends, finishes, names }: Layout, k: number): string {
  if (isOverTime) return `M${finishes[k].x} ${finishes[k].y}V${names[k].y - 10}`;
  if (names[k].x < frame.end) return "";
  return `M${ends[k].x} ${ends[k].y}H${frame.end}L${names[k].x - 3} ${names[k].y - 4}`;
}

/** The stairs of a player; over time the rest to the goal is dashed. */
function stairTemplate({ family, morph, price, isNarrow }: Stairs, layout: Layout, k: number) {
  const { drawn, frame, isOverTime, x, ends, finishes, names } = layout;
  const player = drawn[k];
  const isPlain = player.source === "target";
  const kind = k ? "hsd-gm-stair" : "hsd-gm-stair hsd-gm-you";
  const path = (corners: Corner[]) => pathOf(corners, x, frame.y);
  const rest = `M${ends[k].x} ${ends[k].y}L${finishes[k].x} ${finishes[k].y}`;
  // Where it is narrow, the others have their names and colours in the standings only.
  const isNamed = !isNarrow || !k || player === mostTokens(drawn.slice(1));
  const dashed = svg`<path stroke-width="2" stroke-dasharray="5 4" d=${rest}></path>`;
  const name = svg`<path stroke-width="1" stroke-dasharray="1 2"
      d=${leaderOf(layout, k)}></path
    ><text x=${names[k].x} y=${names[k].y} text-anchor=${names[k].anchor}
    >${nameOf(player, price, isOverTime)}</text>`;
  return svg`<g class=${isPlain ? `${kind} hsd-gm-plain` : kind}
    data-family=${k ? family(player.source) : "none"} stroke-width=${WIDTHS[k] ?? 1.5}
    ><path d=${path(player.corners)}></path
    >${morph === 1 ? dashed : nothing}${isNamed ? name : nothing}</g>`;
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

/** The axis of passes, with numbers where texts end, or of time in passes of plain decoding. */
function acrossTemplate({ width, bands, strings }: Stairs, layout: Layout) {
  const { frame, scale, plainPasses, isOverTime } = layout;
  const ends = endsOf(bands).map(
    (passes) =>
      svg`<text class="hsd-tick" x=${scale.x(passes)} y=${frame.foot + 16}
        text-anchor="middle">${passes}</text>`,
  );
  const times = axisX(frameOf(frame, plainPasses, 1), Math.max(2, width / 160), String);
  return svg`${isOverTime ? times : ends}<text class="hsd-axis" x=${frame.end} y=${frame.foot + 36}
    text-anchor="end">${isOverTime ? strings.time : strings.passes}</text>`;
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
    ><text class="hsd-axis" x=${frame.left + 6} y=${y + 17}>${goal} ${strings.tokens}</text>`;
}

/**
 * The picture. Over passes, the names are on the right. Over time, all lines continue at their own
 * rates to the best score, and the names are above their ends.
 */
export function stairsPicture(stairs: Stairs) {
  const { width, height, morph, strings, isNarrow } = stairs;
  const layout = layoutOf(stairs);
  const { frame, isOverTime } = layout;
  // Over time, and where it is narrow, no pass has room for its parts.
  const last = morph || isNarrow ? [] : layout.blocks.slice(-1);
  // Figures give way to names within the picture.
  const hasFigures = !morph && !(isNarrow && layout.names[0].anchor === "end");
  // Where the name of the axis has no room beside those of the texts, it is below them.
  const name = svg`<text class="hsd-axis" x=${frame.left + 6} y=${frame.top + 15}
    >${strings.tokens}</text>`;
  return html`<svg
    class="hsd-gm-picture"
    width=${width}
    height=${height}
    viewBox="0 0 ${width} ${height}"
    aria-hidden="true"
  >
    ${morph ? nothing : bandTemplates(stairs, layout)}${axisY(
      frame,
      4,
      String,
      isNarrow ? "" : strings.tokens,
    )}${isNarrow && !isOverTime ? name : nothing}${acrossTemplate(stairs, layout)}${
      isOverTime ? goalTemplate(stairs, layout) : nothing
    }${morph ? nothing : bandTemplate(layout)}${blocksTemplate(last)}${layout.drawn.map((_, k) =>
      stairTemplate(stairs, layout, k),
    )}${hasFigures ? figuresTemplate(layout.blocks) : nothing}
  </svg>
    ${morph ? nothing : keys(strings, isNarrow ? ["filled"] : undefined)}`;
}
