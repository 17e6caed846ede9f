// The picture of a dart board: its columns, the darts, and the piles that show the share of darts
// per column beside p.
import { nothing, svg } from "lit-html";
import { ticks } from "../lib/chart";
import { cut } from "../lib/words";
import { type Board, type Dart, type Fate, type Point, pOf, proposedOf } from "./board";
import { isOff, noiseOf, PILE } from "./chance";
import { type PartNames, partLabels } from "./labels";
import { type BoardPicture, COLUMN, LINE, labelOf, type Scale, SIZE, scaleOf } from "./scale";

/** Numbers of the axis, about. */
const TICKS = 3;
/**
 * Maximum size of a dot in pixels, and the number of darts from which dots shrink to keep the total
 * ink constant. A hollow one has the line.
 */
const DOT = { most: 8, darts: 130, line: 0.6 };
/** Bracket of the noise in pixels: its gap to the column, and the length of its arms. */
const BRACKET = { gap: 3, arm: 5 };

/** A dart in the picture: its position across the column (0 to 1). */
export type ThrownDart = Dart & { x: number };
/** Darts on their way: on their proposals, or from there to their ends. */
export interface Flight {
  darts: readonly ThrownDart[];
  isJudged: boolean;
}
/** What is on the board, and how it is drawn. */
export interface Drawing {
  /** In pixels. */
  width: number;
  darts?: readonly ThrownDart[];
  flight?: Flight | null;
  /** The line above the board; it begins over the first column. */
  caption?: unknown;
  /** The words on the parts of the columns, beside the rows of p and q; null: without them. */
  parts?: PartNames | null;
}

/** Write a probability of the board. */
export function valueText(p: number, isWhole = false): string {
  if (isWhole) return `${Number((100 * p).toFixed(1))}\u00a0%`;
  return p === 0 || p === 1 ? String(p) : p.toFixed(3);
}

/** Return whether there are enough darts to show piles. */
export const isPiled = (darts: readonly ThrownDart[]): boolean => darts.length >= PILE.from;

/** Return the share of the darts that end in each column. */
export const pileOf = ({ columns }: Board, darts: readonly ThrownDart[]): number[] =>
  columns.map(
    (_, k) => darts.filter((dart) => dart.column === k).length / Math.max(1, darts.length),
  );

/** A part of a column, between two heights. */
function part({ left, wide, y }: Scale, k: number, from: number, to: number, cls: string) {
  if (to - from <= 1e-9) return nothing;
  return svg`<rect class=${cls} x=${left(k)} width=${wide}
    y=${y(to)} height=${y(from) - y(to)}></rect>`;
}

function columnTemplate(
  { board, names, families, recorded, isWhole }: BoardPicture,
  scale: Scale,
  darts: readonly ThrownDart[],
  k: number,
  isNamed: boolean,
) {
  const column = board.columns[k];
  const { accepted } = column;
  const q = proposedOf(board, column);
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
    ${part(scale, k, accepted, q, "hsd-dt-surplus")}
    ${dotsTemplate(scale, darts, k)}
    <text x=${nameX} y=${nameAt} class=${isOn ? "hsd-dt-name hsd-on" : "hsd-dt-name"}
      >${label}</text>
    <text x=${middle(k)} y=${valueAt} class="hsd-dt-p">${valueText(pOf(column), isWhole)}</text>
    ${
      isNamed
        ? svg`<text x=${middle(k)} y=${valueAt + LINE} class="hsd-dt-p"
            >${valueText(q, isWhole)}</text>`
        : nothing
    }
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
function axisTemplate({ most, y }: Scale, width: number, isWhole?: boolean) {
  return ticks(most, TICKS).map(
    (p) => svg`<line class="hsd-grid" x1=${SIZE.left} x2=${width}
        y1=${y(p)} y2=${y(p)}></line>
      <text class="hsd-dt-tick" x=${SIZE.left - 6} y=${y(p) + 4}
        >${isWhole ? valueText(p, true) : Number(p.toFixed(3))}</text>`,
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

/** Darts on their way, in the colours of their proposals; a single one is larger. */
function flightTemplate({ families }: BoardPicture, scale: Scale, { darts, isJudged }: Flight) {
  const size = darts.length > 1 ? DOT.most / 2 : 6;
  return darts.map((dart) => {
    const [x, y] = placeOf(scale, dart.x, isJudged ? dart : dart.first);
    const kind = isJudged ? `hsd-dt-flight hsd-dt-is-${dart.fate}` : "hsd-dt-flight";
    return svg`<g data-family=${families[dart.first.column] ?? nothing}><circle
      class=${kind} r=${size} .style=${`transform: translate(${x}px, ${y}px)`}></circle></g>`;
  });
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

/** The names of the rows of p and q below the columns. */
function rowNames({ foot, isTight }: Scale) {
  const first = foot + 2 * LINE + (isTight ? LINE : 0);
  return ["p", "q"].map(
    (name, k) => svg`<text class="hsd-dt-tick" x=${SIZE.left - 6} y=${first + k * LINE}
      >${name}</text>`,
  );
}

/** The picture of a board, its darts and those on their way. */
export function boardPicture(
  drawn: BoardPicture,
  { width, darts = [], flight = null, caption = nothing, parts = null }: Drawing,
) {
  const { board, isWhole } = drawn;
  const { columns } = board;
  const isNamed = parts !== null;
  const pile = pileOf(board, darts);
  const scale = scaleOf(drawn, width, isNamed);
  const shares = pile.map((share, k) =>
    pileTemplate(scale, pOf(columns[k]), share, darts.length, k),
  );
  return svg`<svg width=${width} height=${scale.height} viewBox="0 0 ${width} ${scale.height}"
    aria-hidden="true">
      <text class="hsd-dt-axis" x=${scale.left(0)} y="12">${caption}</text>
      ${axisTemplate(scale, width, isWhole)}
      ${columns.map((_, k) => columnTemplate(drawn, scale, darts, k, isNamed))}
      ${isPiled(darts) ? shares : nothing}
      ${rings(drawn, scale)}
      ${parts ? [rowNames(scale), partLabels(drawn, scale, parts)] : nothing}
      ${flight ? flightTemplate(drawn, scale, flight) : nothing}
    </svg>`;
}
