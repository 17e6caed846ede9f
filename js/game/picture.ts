// The stairs of the game as a picture: one path for each player, over passes or over time, or between the two.
import { html, nothing, svg } from "lit-html";
import { axisX, axisY, frameOf, spread } from "../lib/chart";
import { duration } from "../lib/words";
import type { Says } from "./says";
import { type Corner, cornersOf, type Player, type Price, tokensOf } from "./score";

const SIZE = { top: 26, bottom: 26, left: 34 };

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
  says: Pick<Says, "glances" | "time" | "tokens">;
}

/** The SVG path of a player's corners. */
export function pathOf(
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
): string {
  const [zero] = [{ passes: 0, ns: 0, low: 0, high: 0 }];
  const steps = corners.map((corner) => `H${x(corner).toFixed(1)}V${y(corner.high).toFixed(1)}`);
  return `M${x(zero).toFixed(1)} ${y(0).toFixed(1)}${steps.join("")}`;
}

/** The picture; each player's name is at the end of its stair. */
export function stairsPicture({ players, ahead = [], price, width, height, morph, family, says }: Stairs) {
  const corners = players.map(({ passes }) => cornersOf(passes, price));
  /** Of each player what is drawn pale, by the order of the players; the visitor has none. */
  const pale = players
    .map(({ name }) => ahead.find((one) => one.name === name))
    .map((one) => cornersOf(one?.passes ?? [], price));
  const all = [...corners, ...pale];
  const most = Math.max(4, ...[...players, ...ahead].map(({ passes }) => tokensOf(passes)));
  const passes = Math.max(3, ...all.map((one) => one.length));
  const ns = Math.max(1, ...all.map((one) => one.at(-1)?.ns ?? 0));
  const right = Math.min(150, 0.3 * width);
  const frame = frameOf({ ...SIZE, right, width, height }, 1, most);
  const share = (corner: Corner) => (1 - morph) * (corner.passes / passes) + morph * (corner.ns / ns);
  const x = (corner: Corner) => frame.x(share(corner));
  const ends = corners.map((own, k) => {
    const last = pale[k].at(-1) ?? own.at(-1) ?? { passes: 0, ns: 0, low: 0, high: 0 };
    // A name at the beginning is above its line.
    return { x: x(last) + 8, y: frame.y(last.high) + (last.passes ? 4 : -8) };
  });
  const places = spread(ends, 17, 130);
  const scale =
    morph < 0.5
      ? frameOf({ ...SIZE, right, width, height }, passes, most)
      : frameOf({ ...SIZE, right, width, height }, ns, most);
  const across =
    morph < 0.5
      ? axisX(scale, Math.min(passes, 6), (n) => (Number.isInteger(n) ? String(n) : ""), says.glances)
      : axisX(scale, Math.max(2, width / 160), duration, says.time);
  const stair = (player: Player, k: number) => {
    const own = player.source === "" ? undefined : family(player.source);
    const kind = k === 0 ? "hsd-gm-stair hsd-gm-you" : "hsd-gm-stair";
    return svg`<g class=${player.source === "target" ? `${kind} hsd-gm-alone` : kind} data-family=${own ?? "none"}
      >${pale[k].length ? svg`<path class="hsd-gm-ahead" d=${pathOf(pale[k], x, frame.y)}></path>` : nothing}<path d=${pathOf(corners[k], x, frame.y)}></path><text x=${places[k].x} y=${places[k].y}>${player.name}</text></g>`;
  };
  const order = [...players.keys()].reverse();
  return html`<svg class="hsd-gm-picture" width=${width} height=${height} viewBox="0 0 ${width} ${height}" aria-hidden="true">
    ${axisY(frame, 4, String, says.tokens)}${across}${order.map((k) => stair(players[k], k))}</svg>`;
}
