// The stairs of the game as a picture: one path for each player, over passes or over time, or
// between the two. All lines are at their own coordinates: where they overlap, each is narrower
// than the one below it.
import { html, nothing, svg } from "lit-html";
import { axisX, axisY, frameOf } from "../lib/chart";
import { columnsOfText, duration } from "../lib/words";
import { type Says, say } from "./says";
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

const SIZE = { top: 26, bottom: 44, left: 34 };
/** Room above the highest stair, as a share of it. */
const HEADROOM = 0.15;
/** Pixels of a line by its player: the visitor's is the widest and the lowest. */
export const WIDTHS = [6, 4, 2.5, 1.5];
/** Pixels of a letter of a name, at most, and between the names. */
const LETTER = 7.4;
const GAP = 17;

export interface Stairs {
  players: Player[];
  price: Price;
  width: number;
  height: number;
  /** 0: over passes, 1: over time; between the two the one becomes the other. */
  morph: number;
  family: (source: string) => string;
  /** The others as they will be after the glances that are left: drawn pale. */
  ahead?: Player[];
  /** The glances at each text, those that are left included. */
  bands: number[];
  says: Pick<Says, "glances" | "time" | "tokens" | "band">;
}

const ZERO: Corner = { passes: 0, ns: 0, low: 0, high: 0 };

/** The SVG path of a player's corners. */
export function pathOf(
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
): string {
  const steps = corners.map((corner) => `H${x(corner).toFixed(1)}V${y(corner.high).toFixed(1)}`);
  return `M${x(ZERO).toFixed(1)} ${y(0).toFixed(1)}${steps.join("")}`;
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

/**
 * The picture. Over glances, the names are in a column on the right. Over time, all lines continue
 * at their own rates to the most tokens of one, and the names are above their ends.
 */
export function stairsPicture({
  players,
  ahead = [],
  price,
  width,
  height,
  morph,
  family,
  bands,
  says,
}: Stairs) {
  const drawn = players.map((player) => {
    const later = ahead.find(({ name }) => name === player.name);
    return {
      ...player,
      corners: cornersOf(player.passes, price),
      pale: cornersOf(later?.passes ?? [], price),
    };
  });
  const goal = Math.max(...players.map(({ passes }) => tokensOf(passes)));
  const most = Math.max(4, goal, ...ahead.map(({ passes }) => tokensOf(passes)));
  const passes = Math.max(
    3,
    bands.reduce((sum, glances) => sum + glances, 0),
  );
  const overTime = morph >= 0.5;
  const times = players.map((player) => timeTo(goal, player.passes, price));
  const ns = Math.max(1, ...times);
  const names = drawn.map(({ name, corners, pale, passes: own }) => {
    const tokens = corners.at(-1)?.high;
    if (overTime) return `${name} ${gainOf(own, price).toFixed(2)} ×`;
    return tokens && !pale.length ? `${name} ${tokens}` : name;
  });
  // Each name has room for its figure from the start, so that the axis does not move.
  const widest = Math.max(...players.map(({ name }) => columnsOfText(`${name} 0.00 ×`)));
  const right = LETTER * widest + 8;
  const top = SIZE.top + morph * GAP * players.length;
  const high = most * (1 + HEADROOM * (1 - morph));
  const size = { ...SIZE, top, right, width, height };
  const frame = frameOf(size, 1, high);
  const share = (corner: Corner) =>
    (1 - morph) * (corner.passes / passes) + morph * (corner.ns / ns);
  const x = (corner: Corner) => frame.x(share(corner));
  const finish = frame.y(goal);
  const ends = drawn.map(({ corners, pale }) => {
    const last = pale.at(-1) ?? corners.at(-1) ?? ZERO;
    return { x: x(last), y: frame.y(last.high) };
  });
  const rows = column(
    ends.map(({ y }) => y + 4),
    height - 4,
  );
  // The earlier an end, the higher its name: no leader crosses a name.
  const order = ranked(drawn, price);
  const placeOf = (k: number) =>
    overTime
      ? {
          x: frame.x(times[k] / ns) + 5,
          y: finish - 8 - GAP * (players.length - 1 - order.indexOf(drawn[k])),
        }
      : { x: frame.end + 14, y: rows[k] };
  const leaderOf = (k: number) => {
    const place = placeOf(k);
    if (overTime) return `M${place.x - 5} ${finish}V${place.y - 10}`;
    return `M${ends[k].x} ${ends[k].y}H${frame.end}L${place.x - 3} ${place.y - 4}`;
  };
  const restOf = (k: number) => `M${ends[k].x} ${ends[k].y}L${frame.x(times[k] / ns)} ${finish}`;
  const scale = frameOf(size, overTime ? ns : passes, high);
  const whole = (n: number) => (Number.isInteger(n) ? String(n) : "");
  const parts = overTime ? Math.max(2, width / 160) : Math.min(passes, 6);
  const numbers = axisX(scale, parts, overTime ? duration : whole);
  const across = svg`${numbers}<text class="hsd-axis" x=${scale.end} y=${scale.foot + 36}
    text-anchor="end"
    >${overTime ? says.time : says.glances}</text>`;
  let from = 0;
  const texts = bands.map((glances, k) => {
    const left = scale.x(from);
    from += glances;
    return svg`<rect fill="currentColor" opacity=${k % 2 ? 0.08 : 0.03} x=${left} y=${top}
      width=${scale.x(from) - left} height=${scale.foot - top}></rect
      ><text class="hsd-axis" x=${(left + scale.x(from)) / 2} y=${top - 9} text-anchor="middle"
      >${say(says.band, { act: k + 1 })}</text>`;
  });
  const stair = ({ source, corners, pale }: (typeof drawn)[number], k: number) => {
    const kind = k ? "hsd-gm-stair" : "hsd-gm-stair hsd-gm-you";
    const place = placeOf(k);
    const path = (some: Corner[]) => pathOf(some, x, frame.y);
    return svg`<g class=${source === "target" ? `${kind} hsd-gm-alone` : kind}
      data-family=${k ? family(source) : "none"} stroke-width=${WIDTHS[k] ?? 1.5}
      ><path opacity="0.45" d=${path(pale)}></path><path d=${path(corners)}></path
      >${
        morph === 1
          ? svg`<path stroke-width="2" stroke-dasharray="5 4" d=${restOf(k)}></path>`
          : nothing
      }<path stroke-width="1" stroke-dasharray="1 2" d=${leaderOf(k)}></path
      ><text x=${place.x} y=${place.y}>${names[k]}</text></g>`;
  };
  return html`<svg
    class="hsd-gm-picture"
    width=${width}
    height=${height}
    viewBox="0 0 ${width} ${height}"
    aria-hidden="true"
  >
    ${morph ? nothing : texts}${axisY(frame, 4, String, says.tokens)}${across}${
      overTime
        ? svg`<path stroke="currentColor" d="M${frame.left} ${finish}H${width}"></path
          ><text class="hsd-axis" x=${width} y=${finish + 15} text-anchor="end"
          >${goal} ${says.tokens}</text>`
        : nothing
    }${drawn.map(stair)}
  </svg>`;
}
