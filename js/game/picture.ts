// The stairs of the game as a picture: one path for each player, over passes or over time, or
// between the two.
import { html, nothing, svg } from "lit-html";
import { axisX, axisY, frameOf, spread } from "../lib/chart";
import { columnsOfText, duration } from "../lib/words";
import { type Says, say } from "./says";
import { type Corner, cornersOf, type Player, type Price, tokensOf } from "./score";

const SIZE = { top: 26, bottom: 44, left: 34 };
/** Room above the highest stair, as a share of it. */
const HEADROOM = 0.15;
/** Pixels between stairs that would be drawn on each other. */
const SHIFT = 3;
/** Pixels of a letter of a name, at most. */
const LETTER = 7.4;

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
  says: Pick<Says, "glances" | "time" | "tokens" | "total">;
}

const ZERO: Corner = { passes: 0, ns: 0, low: 0, high: 0 };

/** The SVG path of a player's corners, `shift` pixels to the left and up. */
export function pathOf(
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
  shift = 0,
): string {
  const steps = corners.map(
    (corner) => `H${(x(corner) - shift).toFixed(1)}V${(y(corner.high) - shift).toFixed(1)}`,
  );
  return `M${x(ZERO).toFixed(1)} ${(y(0) - shift).toFixed(1)}${steps.join("")}`;
}

/** A player with what is drawn of it: its corners so far, and those that are drawn pale. */
interface Drawn extends Player {
  corners: Corner[];
  pale: Corner[];
}

/** What a stair looks like; costs are seen only over time. */
const shapeOf = ({ corners, pale }: Drawn, overTime: boolean) =>
  JSON.stringify(
    [corners, pale].map((some) => some.map(({ high, ns }) => (overTime ? [high, ns] : high))),
  );

/**
 * Draw stairs that look the same once, with the names of all their players; the visitor's is always
 * its own.
 */
export function joined(players: readonly Drawn[], overTime: boolean): Drawn[] {
  const drawn: Drawn[] = [];
  for (const player of players) {
    const shape = shapeOf(player, overTime);
    const same = drawn.findIndex((one, k) => k > 0 && shapeOf(one, overTime) === shape);
    if (same < 0) drawn.push(player);
    else drawn[same] = { ...drawn[same], name: `${drawn[same].name} = ${player.name}` };
  }
  return drawn;
}

/** The picture; each player's name is at the end of its stair. */
export function stairsPicture({
  players,
  ahead = [],
  price,
  width,
  height,
  morph,
  family,
  says,
}: Stairs) {
  const all = players.map((player): Drawn => {
    const later = ahead.find(({ name }) => name === player.name);
    return {
      ...player,
      corners: cornersOf(player.passes, price),
      pale: cornersOf(later?.passes ?? [], price),
    };
  });
  const drawn = joined(all, morph > 0);
  const most = Math.max(4, ...[...players, ...ahead].map(({ passes }) => tokensOf(passes)));
  const longest = drawn.flatMap(({ corners, pale }) => [corners, pale]);
  const passes = Math.max(3, ...longest.map((one) => one.length));
  const ns = Math.max(1, ...longest.map((one) => one.at(-1)?.ns ?? 0));
  const names = drawn.map(({ name, corners }, k) => {
    const tokens = corners.at(-1)?.high ?? 0;
    return k === 0 && tokens ? say(says.total, { name, tokens }) : name;
  });
  // The visitor's name has its room from the start, so that the axis does not move.
  const widest = Math.max(
    ...[...names, say(says.total, { name: drawn[0].name, tokens: 10 })].map(columnsOfText),
  );
  const right = Math.max(0.2 * width, LETTER * widest + 8);
  const high = most * (1 + HEADROOM);
  const frame = frameOf({ ...SIZE, right, width, height }, 1, high);
  const share = (corner: Corner) =>
    (1 - morph) * (corner.passes / passes) + morph * (corner.ns / ns);
  const x = (corner: Corner) => frame.x(share(corner));
  const heightOf = ({ corners, pale }: Drawn) => (pale.at(-1) ?? corners.at(-1) ?? ZERO).high;
  const ranked = drawn.slice(1).sort((a, b) => heightOf(a) - heightOf(b));
  /**
   * The visitor's stair and the lowest other one are where the axes say; each higher one is a
   * little above the next.
   */
  const shiftOf = (k: number) => (k ? ranked.indexOf(drawn[k]) * SHIFT : 0);
  const ends = drawn.map(({ corners, pale }, k) => {
    const last = pale.at(-1) ?? corners.at(-1) ?? ZERO;
    // A name at the beginning is above its dot.
    return { x: x(last) + 8, y: frame.y(last.high) - shiftOf(k) + (last.passes ? 4 : -10) };
  });
  const places = spread(ends, 17, 130);
  const overTime = morph >= 0.5;
  const scale = frameOf({ ...SIZE, right, width, height }, overTime ? ns : passes, high);
  const numbers = overTime
    ? axisX(scale, Math.max(2, width / 160), duration)
    : axisX(scale, Math.min(passes, 6), (n) => (Number.isInteger(n) ? String(n) : ""));
  const across = svg`${numbers}<text class="hsd-axis" x=${scale.end} y=${scale.foot + 36}
    text-anchor="end"
    >${overTime ? says.time : says.glances}</text>`;
  const stair = ({ source, corners, pale }: Drawn, k: number) => {
    const own = source === "" ? undefined : family(source);
    const kind = k === 0 ? "hsd-gm-stair hsd-gm-you" : "hsd-gm-stair";
    const path = (some: Corner[]) => pathOf(some, x, frame.y, shiftOf(k));
    return svg`<g class=${source === "target" ? `${kind} hsd-gm-alone` : kind}
      data-family=${own ?? "none"}
      >${pale.length ? svg`<path class="hsd-gm-ahead" d=${path(pale)}></path>` : nothing}<path
        d=${path(corners)}></path
      >${
        k === 0 && !corners.length
          ? svg`<circle cx=${frame.x(0)} cy=${frame.y(0)} r="6"></circle>`
          : nothing
      }<text x=${places[k].x} y=${places[k].y}>${names[k]}</text></g>`;
  };
  const order = [...drawn.keys()].reverse();
  return html`<svg
    class="hsd-gm-picture"
    width=${width}
    height=${height}
    viewBox="0 0 ${width} ${height}"
    aria-hidden="true"
  >
    ${axisY(frame, 4, String, says.tokens)}${across}${order.map((k) => stair(drawn[k], k))}
  </svg>`;
}
