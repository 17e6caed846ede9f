// What the visitor's passes brought, as blocks on the visitor's stairs: a cell for each token in
// the colour of who wrote it, the model's own on top.
import { nothing, svg } from "lit-html";
import type { Corner } from "./score";

/** The least pixels of a cell. */
const CELL = 5;
/** Pixels of a block across at most, and its share of the step that it ends. */
const WIDTH = { most: 20, share: 0.36 };
/** Pixels of a letter of a figure, and of its base line above its step. */
const LETTER = 8;
const ABOVE = 8;

/** Who a token is from: a word of the visitor, or the model. */
type Kind = "you" | "own";
/** Tokens of one kind in a block, from its foot up. */
export interface Cell {
  by: Kind;
  foot: number;
  top: number;
}
/** A block in pixels: where its step begins, its edges, and its cells from the lowest up. */
export interface Block {
  from: number;
  left: number;
  right: number;
  cells: Cell[];
  tokens: number;
}

/** A cell for each token; those of the visitor are one where they would be too low. */
function cellsOf({ low, high }: Corner, y: (tokens: number) => number): Cell[] {
  const own = high - 1;
  const step = y(0) - y(1) >= CELL ? 1 : own - low;
  const cells: Cell[] = [];
  for (let foot = low; foot < own; foot += step)
    cells.push({ by: "you", foot: y(foot), top: y(foot + step) });
  return [...cells, { by: "own", foot: y(own), top: y(high) }];
}

/** The blocks of a player's corners: each beside its riser, at the end of its step. */
export const blocksOf = (
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
  start: number,
): Block[] =>
  corners.map((corner, k) => {
    const from = k ? x(corners[k - 1]) : start;
    const right = x(corner);
    return {
      from,
      left: right - Math.min(WIDTH.most, WIDTH.share * (right - from)),
      right,
      cells: cellsOf(corner, y),
      tokens: corner.high - corner.low,
    };
  });

/** The figure of a block, on its step where it has room there. */
function figureTemplate({ from, left, cells, tokens }: Block) {
  const words = `+${tokens}`;
  if (left - from < LETTER * words.length) return nothing;
  return svg`<text class="hsd-gm-gain" x=${(from + left) / 2} y=${cells[0].foot - ABOVE}
    text-anchor="middle">${words}</text>`;
}

function blockTemplate({ left, right, cells }: Block) {
  const width = Math.max(0, right - left);
  const cell = ({ by, foot, top }: Cell) =>
    svg`<rect class="hsd-gm-cell hsd-gm-key-${by}" x=${left} width=${width}
      y=${top} height=${Math.max(0, foot - top)}></rect>`;
  return svg`<g class="hsd-gm-block">${cells.map(cell)}</g>`;
}

/** The blocks of the visitor: below all lines, and their figures above them. */
export const blocksTemplate = (blocks: readonly Block[]) => blocks.map(blockTemplate);
export const figuresTemplate = (blocks: readonly Block[]) => blocks.map(figureTemplate);
