// What the visitor's passes brought, as blocks on the visitor's stairs: a cell for each token, the
// model's own on top.
import { nothing, svg } from "lit-html";
import type { Corner } from "./score";

/** The least pixels of a cell, and of a block that has its figure inside. */
const CELL = 5;
const INSIDE = 22;
/** Pixels of a letter of a figure, its margins inside a block, and what one above needs. */
const LETTER = 8;
const MARGIN = 8;
const ABOVE = 40;
/** Pixels of the base line of a figure below the middle of its block, and above a block. */
const BASE = { below: 5, above: 6 };

/** A block: its edges, and those between its cells, in pixels. */
export interface Block {
  left: number;
  right: number;
  /** Edges from the lowest cell up, at least two; the highest cell is the model's own token. */
  edges: number[];
  tokens: number;
}

/** The blocks of a player's corners; cells that would be too low are one. */
export function blocksOf(
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
  start: number,
): Block[] {
  const isFine = y(0) - y(1) >= CELL;
  return corners.map((corner, k) => {
    const { low, high } = corner;
    const all = Array.from({ length: high - low + 1 }, (_, cell) => low + cell);
    const coarse = all.filter((tokens) => tokens === low || tokens >= high - 1);
    return {
      left: k ? x(corners[k - 1]) : start,
      right: x(corner),
      edges: (isFine ? all : coarse).map(y),
      tokens: high - low,
    };
  });
}

function figureTemplate({ left, right, edges, tokens }: Block) {
  const words = `+${tokens}`;
  const foot = edges[0];
  const top = edges[edges.length - 1];
  const isInside = foot - top >= INSIDE;
  // Narrow stairs are steep: a figure above a step would be on the next one.
  const least = isInside ? LETTER * words.length + MARGIN : ABOVE;
  if (right - left < least) return nothing;
  const y = isInside ? (foot + top) / 2 + BASE.below : top - BASE.above;
  return svg`<text class="hsd-gm-gain" x=${(left + right) / 2} y=${y}
    text-anchor="middle">${words}</text>`;
}

function blockTemplate(block: Block) {
  const { left, right, edges } = block;
  const cells = edges.slice(1).map((top, cell) => {
    const isOwn = cell === edges.length - 2;
    return svg`<rect class=${isOwn ? "hsd-gm-cell hsd-gm-cell-own" : "hsd-gm-cell"}
      x=${left} width=${Math.max(0, right - left)}
      y=${top} height=${Math.max(0, edges[cell] - top)}></rect>`;
  });
  return svg`<g class="hsd-gm-block">${cells}</g>`;
}

/** The blocks of the visitor: below all lines, and their figures above them. */
export const blocksTemplate = (blocks: readonly Block[]) => blocks.map(blockTemplate);
export const figuresTemplate = (blocks: readonly Block[]) => blocks.map(figureTemplate);
