// The card to share: the stairs of a game as a drawing that needs no style sheet. Pure.
import { ticks } from "../lib/chart";
import { say } from "../lib/say";
import { escaped } from "./escape";
import { column, pathOf, WIDTHS } from "./picture";
import { cornersOf, type Player, type Price, tokensOf, tokensPerPass } from "./score";
import type { Strings } from "./strings";

const SIZE = { width: 640, height: 360, left: 40, right: 470, top: 112, foot: 318 };
const INK = {
  page: "#ffffff",
  text: "#1f2328",
  muted: "#57606a",
  line: "#d5dae0",
};

/** A line of the card. */
const written = (
  words: string,
  x: number,
  y: number,
  size: number,
  fill: string,
  weight = 400,
  anchor = "start",
) => `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${fill}"
  text-anchor="${anchor}"
  >${escaped(words)}</text>`;

/**
 * The drawing as text. `colours` are those of the players in order. It is read by others, for whom
 * the visitor is a friend; `link`: the address at which they can play, "": there is none.
 */
export function cardOf(
  players: readonly Player[],
  price: Price,
  colours: readonly string[],
  link: string,
  strings: Strings,
): string {
  const most = Math.max(1, ...players.map(({ passes }) => tokensOf(passes)));
  const width = Math.max(1, players[0].passes.length);
  const x = (passes: number) => SIZE.left + ((SIZE.right - SIZE.left) * passes) / width;
  const y = (tokens: number) => SIZE.foot - ((SIZE.foot - SIZE.top) * tokens) / most;
  const names = column(
    players.map(({ passes }) => y(tokensOf(passes)) + 5),
    SIZE.foot,
  );
  const line = (player: Player, k: number) => {
    const corners = cornersOf(player.passes, price);
    const path = pathOf(corners, ({ passes }) => x(passes), y);
    const name = k ? player.name : strings.friend;
    const words = `${name} ${tokensPerPass(player.passes).toFixed(1)}`;
    const pen = WIDTHS[k] ?? 1.5;
    return `<path d="${path}" fill="none" stroke="${colours[k]}" stroke-width="${pen}"/>
${written(words, x(corners.length) + 10, names[k], 15, colours[k], k ? 400 : 700)}`;
  };
  const head = say(strings.card_head, { number: tokensPerPass(players[0].passes).toFixed(1) });
  const line2 = say(strings.card_line, { passes: players[0].passes.length });
  const call = link ? say(strings.card_call, { address: link }) : `hsd_viz: ${strings.title}`;
  const lines = players.map(line);
  const levels = ticks(most, 3).map(
    (tokens) => `<path d="M${SIZE.left} ${y(tokens)}H${SIZE.right}" stroke="${INK.line}"/>
${written(`${tokens}`, SIZE.left - 8, y(tokens) + 4, 13, INK.muted, 400, "end")}`,
  );
  // The last number has its place beside the name of the axis.
  const numbers = ticks(width, 5)
    .filter((passes) => passes < width / 2)
    .map((passes) => written(`${passes}`, x(passes), SIZE.foot + 16, 13, INK.muted, 400, "middle"));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${SIZE.width}" height="${SIZE.height}"
  viewBox="0 0 ${SIZE.width} ${SIZE.height}" font-family="system-ui, sans-serif">
<rect width="100%" height="100%" rx="14" fill="${INK.page}" stroke="${INK.line}"/>
${written(head, SIZE.left, 52, 26, INK.text, 700)}
${written(line2, SIZE.left, 79, 16, INK.muted)}
${levels.join("\n")}
${numbers.join("\n")}
${written(strings.tokens, SIZE.left + 6, SIZE.top + 14, 13, INK.muted)}
${written(`${width} ${strings.passes}`, SIZE.right, SIZE.foot + 16, 13, INK.muted, 400, "end")}
${lines.join("\n")}
${written(call, SIZE.left, 352, 15, INK.text, 700)}
</svg>`;
}
