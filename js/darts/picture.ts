// The picture of a dart board: its columns, the darts, and the piles that show the share of darts
// per column beside p.
import { nothing, svg } from "lit-html";
import { ticks } from "../lib/chart";
import { cut } from "../lib/words";
import { type Board, type Dart, type Fate, lawOf, type Point, pOf } from "./board";

const SIZE = { height: 240, whole: 300, left: 30, top: 18, bottom: 36 };
/** Pixels between two lines of names, where one line has no room for them. */
const LINE = 15;
/** Numbers of the axis, about. */
const TICKS = 3;
/** Maximum width of a column in pixels, its share of the step, and the width of a letter. */
const COLUMN = { most: 64, share: 0.72, letter: 8.2 };
/** Minimum range of the vertical axis, as a probability. */
const MIN_RANGE = 0.02;
/**
 * Number of darts from which the piles are shown, and their noise in standard deviations. With
 * four, one of six columns exceeds the noise by chance once in 2 600 throws.
 */
export const PILE = { from: 200, deviations: 4 };
/**
 * Maximum size of a dot in pixels, and the number of darts from which dots shrink to keep the total
 * ink constant. A hollow one has the line.
 */
const DOT = { most: 8, darts: 130, line: 0.6 };
/** Bracket of the noise in pixels: its gap to the column, and the length of its arms. */
const BRACKET = { gap: 3, arm: 5 };

/** A dart in the picture: its position across the column (0 to 1). */
export type ThrownDart = Dart & { x: number };
/** A dart on its way: on its proposal, or from there to its end. */
export interface Flight {
  dart: ThrownDart;
  isJudged: boolean;
}
/**
 * The recorded draws at this position: the drafter's dart, and the column of the token that
 * replaced it.
 */
export interface RecordedDraws {
  first: { column: number; y: number; hit: boolean } | null;
  token: number | null;
}
export interface BoardPicture {
  board: Board;
  names: string[];
  families: (string | null)[];
  recorded: RecordedDraws | null;
  /** Whether the axis goes to 1, for a board whose q changes. */
  isWhole?: boolean;
}

/** Return whether there are enough darts to show piles. */
export const isPiled = (darts: readonly ThrownDart[]): boolean => darts.length >= PILE.from;

/** Return the share of the darts that end in each column. */
export const pileOf = ({ columns }: Board, darts: readonly ThrownDart[]): number[] =>
  columns.map(
    (_, k) => darts.filter((dart) => dart.column === k).length / Math.max(1, darts.length),
  );

/**
 * Return the noise of a share of `darts` darts around the probability p: {@link PILE} standard
 * deviations, and one dart for the rounding to whole darts.
 */
export const noiseOf = (p: number, darts: number): number =>
  PILE.deviations * Math.sqrt(Math.max(0, p * (1 - p)) / darts) + 1 / darts;

/** Return whether a share of darts differs from p by more than its noise. */
export const isOff = (share: number, p: number, darts: number): boolean =>
  Math.abs(share - p) > noiseOf(p, darts);

/** The scales of the picture. */
interface Scale {
  height: number;
  foot: number;
  /** Names of columns have two lines, in turns. */
  isTight: boolean;
  step: number;
  wide: number;
  /** Largest probability of the vertical axis. */
  most: number;
  left(k: number): number;
  middle(k: number): number;
  y(p: number): number;
}
/** The scale; it has room for the first pile of each rule, so that throws do not move it. */
function scaleOf({ board, names, isWhole }: BoardPicture, width: number): Scale {
  const { columns } = board;
  const broken = lawOf(board, true);
  const pileAt = (p: number) => p + noiseOf(p, PILE.from);
  const heights = columns.map((c, k) =>
    Math.max(pOf(c) + c.surplus, pileAt(pOf(c)), pileAt(broken[k])),
  );
  const highest = isWhole ? 1 : Math.min(1, Math.max(...heights, MIN_RANGE));
  const step = (width - SIZE.left) / columns.length;
  const isTight = names.some((name) => labelOf(name).length * COLUMN.letter > step);
  const height = isWhole ? SIZE.whole : SIZE.height;
  const foot = height - SIZE.bottom - (isTight ? LINE : 0);
  const wide = Math.min(COLUMN.most, step * COLUMN.share);
  const middle = (k: number) => SIZE.left + step * (k + 0.5);
  return {
    height,
    foot,
    isTight,
    step,
    wide,
    most: highest,
    middle,
    left: (k) => middle(k) - wide / 2,
    y: (p) => foot - (p / highest) * (foot - SIZE.top),
  };
}

/** Return the label of a token; punctuation is in quotes. */
const labelOf = (name: string) => (/[\p{L}\p{N}]/u.test(name) ? name : `“${name}”`);

/** A part of a column, between two heights. */
function part({ left, wide, y }: Scale, k: number, from: number, to: number, cls: string) {
  if (to - from <= 1e-9) return nothing;
  return svg`<rect class=${cls} x=${left(k)} width=${wide}
    y=${y(to)} height=${y(from) - y(to)}></rect>`;
}

function columnTemplate(
  { board, names, families, recorded }: BoardPicture,
  scale: Scale,
  darts: readonly ThrownDart[],
  k: number,
) {
  const column = board.columns[k];
  const { accepted, surplus } = column;
  const { middle, foot, isTight, step } = scale;
  // The name of the last column ends with the picture.
  const isLast = k === board.columns.length - 1;
  const room = isTight ? (isLast ? 1.5 : 2) * step : step;
  const letters = Math.max(3, Math.floor(room / COLUMN.letter));
  const label = cut(labelOf(names[k]), letters);
  const end = middle(k) + step / 2;
  const nameX = isLast ? Math.min(middle(k), end - (label.length * COLUMN.letter) / 2) : middle(k);
  const nameAt = foot + LINE + (isTight && k % 2 ? LINE : 0);
  const valueAt = foot + 2 * LINE + (isTight ? LINE : 0);
  const isOn = k === recorded?.token;
  return svg`<g data-family=${families[k] ?? nothing}>
    ${part(scale, k, 0, accepted, "hsd-dt-accepted")}
    ${part(scale, k, accepted, pOf(column), "hsd-dt-residual")}
    ${part(scale, k, accepted, accepted + surplus, "hsd-dt-surplus")}
    ${dotsTemplate(scale, darts, k)}
    <text x=${nameX} y=${nameAt} class=${isOn ? "hsd-dt-name hsd-on" : "hsd-dt-name"}
      >${label}</text>
    <text x=${middle(k)} y=${valueAt} class="hsd-dt-p">${pOf(column).toFixed(3)}</text>
  </g>`;
}

/** The pile of a column, and a bracket around the heights that chance explains. */
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

/** Grid lines and numbers of the vertical axis. */
function axisTemplate({ most, y }: Scale, width: number) {
  return ticks(most, TICKS).map(
    (p) => svg`<line class="hsd-grid" x1=${SIZE.left} x2=${width}
        y1=${y(p)} y2=${y(p)}></line>
      <text class="hsd-dt-tick" x=${SIZE.left - 6} y=${y(p) + 4}
        >${Number(p.toFixed(3))}</text>`,
  );
}

/** A dart's place in pixels, at one of its points. */
function placeOf({ left, wide, y }: Scale, x: number, at: Point): [number, number] {
  return [left(at.column) + wide * (0.06 + 0.88 * x), y(at.y)];
}

/** Return the path data of darts that end in a column, drawn as dots. */
function dots(scale: Scale, darts: readonly ThrownDart[], column: number, fate: Fate): string {
  const ended = darts.filter((dart) => dart.column === column && dart.fate === fate);
  return ended
    .map((dart) => {
      const [x, y] = placeOf(scale, dart.x, dart);
      return `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
    })
    .join("");
}

/** The darts that end in a column: those kept are solid, those drawn again are hollow. */
function dotsTemplate(scale: Scale, darts: readonly ThrownDart[], column: number) {
  const size = DOT.most * Math.min(1, Math.sqrt(DOT.darts / Math.max(1, darts.length)));
  const path = (fate: Fate, kind: string, width: number) =>
    svg`<path class=${kind} stroke-width=${width} d=${dots(scale, darts, column, fate)}></path>`;
  return [
    path("redrawn", "hsd-dt-redrawn", size),
    path("redrawn", "hsd-dt-hollow", (1 - DOT.line) * size),
    path("wrong", "hsd-dt-wrong", size),
    path("kept", "hsd-dt-kept", size),
  ];
}

/** A dart on its way, in the colour of its proposal. */
function flightTemplate({ families }: BoardPicture, scale: Scale, { dart, isJudged }: Flight) {
  const [x, y] = placeOf(scale, dart.x, isJudged ? dart : dart.first);
  const kind = isJudged ? `hsd-dt-flight hsd-dt-is-${dart.fate}` : "hsd-dt-flight";
  return svg`<g data-family=${families[dart.first.column] ?? nothing}
    ><circle class=${kind} r="6" .style=${`transform: translate(${x}px, ${y}px)`}></circle></g>`;
}

function ring({ left, wide, y }: Scale, k: number, at: number, hit: boolean) {
  return svg`<circle class=${hit ? "hsd-dt-ring" : "hsd-dt-ring hsd-out"}
    cx=${left(k) + wide / 2} cy=${y(at)} r="5"></circle>`;
}
/** Rings around the recorded dart of the drafter, and the recorded token that replaced it. */
function rings({ board, recorded }: BoardPicture, scale: Scale) {
  if (!recorded) return nothing;
  const { first, token } = recorded;
  const replacement = token === null || first?.hit ? undefined : board.columns[token];
  const hasReplacement = replacement && token !== null;
  return [
    first ? ring(scale, first.column, first.y, first.hit) : nothing,
    hasReplacement
      ? ring(scale, token, replacement.accepted + replacement.residual / 2, true)
      : nothing,
  ];
}

/** The picture of a board, its darts and one on its way, `width` pixels wide. */
export function boardPicture(
  drawn: BoardPicture,
  width: number,
  darts: readonly ThrownDart[] = [],
  axis = "probability",
  flight: Flight | null = null,
) {
  const { columns } = drawn.board;
  const pile = pileOf(drawn.board, darts);
  const scale = scaleOf(drawn, width);
  const shares = pile.map((share, k) =>
    pileTemplate(scale, pOf(columns[k]), share, darts.length, k),
  );
  return svg`<svg width=${width} height=${scale.height} viewBox="0 0 ${width} ${scale.height}"
    aria-hidden="true">
      <text class="hsd-dt-axis" y="10">${axis}</text>
      ${axisTemplate(scale, width)}
      ${columns.map((_, k) => columnTemplate(drawn, scale, darts, k))}
      <line class="hsd-dt-foot" x1=${SIZE.left} x2=${width}
        y1=${scale.foot} y2=${scale.foot}></line>
      ${isPiled(darts) ? shares : nothing}
      ${rings(drawn, scale)}
      ${flight ? flightTemplate(drawn, scale, flight) : nothing}
    </svg>`;
}
