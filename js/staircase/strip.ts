// The strip: a bar per round, whose height is the number of its tokens, in the colours of their
// sources. All rounds are equally wide, because the strip is for finding a round, not for comparing
// times.
import { nothing, svg } from "lit-html";
import { mark } from "../lib/chart";
import type { Cursor } from "../lib/cursor";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Picture } from "./picture";
import { evenTreads, stepAt, timeOf } from "./stairs";

/** Pixels above and below the bars. */
const MARGIN = 3;
/** Gap between two bars in pixels, and its maximum share of a round's width. */
const GAP = { pixels: 2, share: 0.3 };
/** Maximum height of a token in pixels. */
const MAX_TOKEN_HEIGHT = 9;

/** Tokens of one source family within the bar of a round. */
export interface Piece {
  /** Index of the round. */
  round: number;
  family: string;
  low: number;
  high: number;
}

/** Return the pieces of all bars; adjacent tokens of one family form one piece. */
export function piecesOf(store: Store, family: (source: string) => string): Piece[] {
  const pieces: Piece[] = [];
  store.index().rounds.forEach(({ first, count }, round) => {
    for (let k = 0; k < count; k++) {
      const name = family(store.tokens[first + k].source);
      const last = pieces.at(-1);
      if (last?.round === round && last.family === name) last.high = k + 1;
      else pieces.push({ round, family: name, low: k, high: k + 1 });
    }
  });
  return pieces;
}

/** Return the SVG path data of the bars, by family. */
function pathsOf(pieces: readonly Piece[], x: (round: number) => number, y: (n: number) => number) {
  const paths = new Map<string, string>();
  for (const { round, family, low, high } of pieces) {
    const d = `M${x(round + 0.5).toFixed(2)} ${y(low).toFixed(2)}V${y(high).toFixed(2)}`;
    paths.set(family, `${paths.get(family) ?? ""}${d}`);
  }
  return [...paths];
}

/** Return the strip of a run, `width` by `height` pixels. */
export function stripOf(store: Store, palette: Palette, width: number, height: number): Picture {
  const { rounds, events, placeOf } = store.index();
  const stairs = { treads: evenTreads(rounds), end: rounds.length };
  const longest = Math.max(1, ...rounds.map(({ count }) => count));
  const unit = width / Math.max(1, rounds.length);
  const wide = unit - Math.min(GAP.pixels, GAP.share * unit);
  const foot = height - MARGIN;
  const tall = Math.min(MAX_TOKEN_HEIGHT, (foot - MARGIN) / longest);
  const x = (round: number) => round * unit;
  const y = (tokens: number) => foot - tokens * tall;
  const bars = pathsOf(piecesOf(store, palette.family), x, y).map(([family, d]) => mark(family, d));
  const xOf = (step: number) => x(timeOf(stairs, step, rounds));
  const line = (cls: string, at: number) =>
    svg`<line class=${cls} x1=${at} x2=${at} y1="0" y2=${height}></line>`;

  function drawn({ step, shown, hover, pinned, round }: Cursor) {
    const isThere = events[step] !== undefined;
    const place = isThere && round !== null ? placeOf.get(round) : undefined;
    const at = isThere ? xOf(step) : 0;
    const isOver = hover !== null && hover.step !== step;
    return svg`<svg class="hsd-stairs hsd-rounds" viewBox="0 0 ${width} ${height}"
      .style=${`--wide: ${wide}px`} aria-hidden="true">
      ${
        place === undefined
          ? nothing
          : svg`<rect class="hsd-rounds-now" x=${x(place)} y="0" width=${unit}
            height=${height}></rect>`
      }
      <line class="hsd-grid" x1="0" x2=${width} y1=${foot + 0.5} y2=${foot + 0.5}></line>
      ${bars}
      ${
        shown === null
          ? nothing
          : svg`<rect class="hsd-stairs-later" x=${at} y="0" width=${Math.max(0, width - at)}
            height=${foot}></rect>`
      }
      ${isOver ? line("hsd-stairs-pointer", xOf(hover.step)) : nothing}
      ${
        isThere
          ? svg`<g class=${pinned ? "hsd-stairs-head hsd-stairs-pinned" : "hsd-stairs-head"}>
            ${line("", at)}</g>`
          : nothing
      }</svg>`;
  }
  return { stepAt: (pixel) => stepAt(stairs, pixel / unit, rounds), drawn };
}
