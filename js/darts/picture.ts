// The picture of a dart board: its columns, the darts thrown at it, and the pile that they make
// beside p.
import { nothing, svg } from "lit-html";
import { ticks } from "../lib/chart";
import { cut } from "../lib/words";
import { type Board, type Column, type Dart, lawOf } from "./board";

const SIZE = { height: 240, left: 30, top: 18, bottom: 36 };
/** Numbers of the axis, about. */
const TICKS = 3;
/** Pixels of a column at most, its share of the room, and of a letter of its name. */
const COLUMN = { most: 64, share: 0.72, letter: 8.2 };
/** The least probability that the height shows. */
const LEAST = 0.02;
/**
 * Darts after which the pile is shown, and the standard deviations that are its usual noise: with
 * four, one of six columns is outside of it by chance once in 2 600 throws.
 */
export const PILE = { from: 200, deviations: 4 };
/**
 * Pixels of the line of a dot, and the darts from which dots become finer, so that all of them have
 * as much ink.
 */
const DOT = { most: 3.2, darts: 800 };
/** Pixels of the bracket of the noise: its gap to a column, and its arms. */
const BRACKET = { gap: 3, arm: 5 };

/** A dart on the picture: its place across the column, and whether its token counts. */
export type Thrown = Dart & { x: number; counts: boolean };
/**
 * What was recorded at this position: the drafter's dart and the column of the token that was drawn
 * in its place.
 */
export interface Recorded {
  first: { column: number; y: number; hit: boolean } | null;
  token: number | null;
}
export interface Drawn {
  board: Board;
  names: string[];
  families: (string | null)[];
  recorded: Recorded | null;
}

export const pOf = ({ accepted, residual }: Column): number => accepted + residual;

/** Whether there are enough darts to show their pile. */
export const isPiled = (darts: readonly Thrown[]): boolean =>
  darts.filter((dart) => dart.counts).length >= PILE.from;

/** The share of the counted darts in each column. */
export function pileOf({ columns }: Board, darts: readonly Thrown[]): number[] {
  const counted = darts.filter((dart) => dart.counts);
  return columns.map(
    (_, k) => counted.filter((dart) => dart.column === k).length / Math.max(1, counted.length),
  );
}

/**
 * How far from a probability p the share of so many darts is by chance: standard deviations of a
 * share, and one dart, since darts are whole.
 */
export const noiseOf = (p: number, darts: number): number =>
  PILE.deviations * Math.sqrt(Math.max(0, p * (1 - p)) / darts) + 1 / darts;

/** Whether the share of so many darts is further from p than chance explains. */
export const isOff = (share: number, p: number, darts: number): boolean =>
  Math.abs(share - p) > noiseOf(p, darts);

/** Where columns are, and how high a probability is. */
interface Scale {
  foot: number;
  step: number;
  wide: number;
  /** The highest probability that is shown. */
  most: number;
  left(k: number): number;
  middle(k: number): number;
  y(p: number): number;
}
/** The scale; it has room for the first pile of each rule, so that throws do not move it. */
function scaleOf(board: Board, width: number): Scale {
  const { columns } = board;
  const lossy = lawOf(board, true);
  const pileAt = (p: number) => p + noiseOf(p, PILE.from);
  const heights = columns.map((c, k) =>
    Math.max(pOf(c) + c.surplus, pileAt(pOf(c)), pileAt(lossy[k])),
  );
  const most = Math.min(1, Math.max(...heights, LEAST));
  const foot = SIZE.height - SIZE.bottom;
  const step = (width - SIZE.left) / columns.length;
  const wide = Math.min(COLUMN.most, step * COLUMN.share);
  const middle = (k: number) => SIZE.left + step * (k + 0.5);
  return {
    foot,
    step,
    wide,
    most,
    middle,
    left: (k) => middle(k) - wide / 2,
    y: (p) => foot - (p / most) * (foot - SIZE.top),
  };
}

/** A name as a label: punctuation in quotes. */
const labelOf = (name: string) => (/[\p{L}\p{N}]/u.test(name) ? name : `“${name}”`);

/** A part of a column. */
function part({ left, wide, y }: Scale, k: number, from: number, to: number, cls: string) {
  if (to - from <= 1e-9) return nothing;
  return svg`<rect class=${cls} x=${left(k)} width=${wide}
    y=${y(to)} height=${y(from) - y(to)}></rect>`;
}

function columnTemplate({ board, names, families, recorded }: Drawn, scale: Scale, k: number) {
  const column = board.columns[k];
  const { accepted, surplus } = column;
  const { middle, foot, step } = scale;
  const letters = Math.max(3, Math.floor(step / COLUMN.letter));
  const isOn = k === recorded?.token;
  return svg`<g data-family=${families[k] ?? nothing}>
    ${part(scale, k, 0, accepted, "hsd-dt-accepted")}
    ${part(scale, k, accepted, pOf(column), "hsd-dt-residual")}
    ${part(scale, k, accepted, accepted + surplus, "hsd-dt-surplus")}
    <text x=${middle(k)} y=${foot + 15} class=${isOn ? "hsd-dt-name hsd-on" : "hsd-dt-name"}
      >${cut(labelOf(names[k]), letters)}</text>
    <text x=${middle(k)} y=${foot + 31} class="hsd-dt-p">${pOf(column).toFixed(3)}</text>
  </g>`;
}

/** The height of a column's pile, and a bracket around where so many darts are by chance. */
function pileTemplate(scale: Scale, p: number, share: number, darts: number, k: number) {
  const { left, wide, y } = scale;
  const noise = noiseOf(p, darts);
  const top = y(Math.min(1, p + noise));
  const foot = y(Math.max(0, p - noise));
  const kind = isOff(share, p, darts) ? "hsd-dt-pile hsd-off" : "hsd-dt-pile";
  const end = left(k) + wide + BRACKET.gap + BRACKET.arm;
  const { arm, gap } = BRACKET;
  return svg`<path class="hsd-dt-noise" d="M${end - arm} ${top}h${arm}V${foot}h${-arm}"></path
    ><path class=${kind} d="M${left(k) - gap} ${y(share)}H${end}"></path>`;
}

/** Lines and numbers of the axis upwards. */
function axisTemplate({ most, y }: Scale, width: number) {
  return ticks(most, TICKS).map(
    (p) => svg`<line class="hsd-grid" x1=${SIZE.left} x2=${width}
        y1=${y(p)} y2=${y(p)}></line>
      <text class="hsd-dt-tick" x=${SIZE.left - 6} y=${y(p) + 4}
        >${Number(p.toFixed(3))}</text>`,
  );
}

/** Path data of darts as dots. */
function dots({ left, wide, y }: Scale, darts: readonly Thrown[]): string {
  const dot = (dart: Thrown) => {
    const x = left(dart.column) + wide * (0.06 + 0.88 * dart.x);
    return `M${x.toFixed(1)} ${y(dart.y).toFixed(1)}h0`;
  };
  return darts.map(dot).join("");
}

function ring({ left, wide, y }: Scale, k: number, at: number, hit: boolean) {
  return svg`<circle class=${hit ? "hsd-dt-ring" : "hsd-dt-ring hsd-out"}
    cx=${left(k) + wide / 2} cy=${y(at)} r="5"></circle>`;
}
/** Rings around what was recorded: the drafter's dart, and the token drawn in its place. */
function rings({ board, recorded }: Drawn, scale: Scale) {
  if (!recorded) return nothing;
  const { first, token } = recorded;
  const drawn = token === null || first?.hit ? undefined : board.columns[token];
  const own = drawn && token !== null;
  return [
    first ? ring(scale, first.column, first.y, first.hit) : nothing,
    own ? ring(scale, token, drawn.accepted + drawn.residual / 2, true) : nothing,
  ];
}

/** The picture of a board, `width` pixels wide, with the darts thrown at it. */
export function boardPicture(
  drawn: Drawn,
  width: number,
  darts: readonly Thrown[] = [],
  axis = "probability",
) {
  const { columns } = drawn.board;
  const pile = pileOf(drawn.board, darts);
  const counted = darts.filter((dart) => dart.counts);
  const scale = scaleOf(drawn.board, width);
  const dot = DOT.most * Math.min(1, Math.sqrt(DOT.darts / Math.max(1, darts.length)));
  const missed = darts.filter((dart) => !dart.counts);
  const shares = pile.map((share, k) =>
    pileTemplate(scale, pOf(columns[k]), share, counted.length, k),
  );
  return svg`<svg width=${width} height=${SIZE.height} viewBox="0 0 ${width} ${SIZE.height}"
    aria-hidden="true">
      <text class="hsd-dt-axis" y="10">${axis}</text>
      ${axisTemplate(scale, width)}
      ${columns.map((_, k) => columnTemplate(drawn, scale, k))}
      <line class="hsd-dt-foot" x1=${SIZE.left} x2=${width}
        y1=${scale.foot} y2=${scale.foot}></line>
      <path class="hsd-dt-miss" stroke-width=${dot} d=${dots(scale, missed)}></path>
      <path class="hsd-dt-dart" stroke-width=${dot} d=${dots(scale, counted)}></path>
      ${isPiled(darts) ? shares : nothing}
      ${rings(drawn, scale)}
    </svg>`;
}
