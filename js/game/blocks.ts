// What the visitor's passes brought, as blocks on the visitor's stairs: a cell for each token in
// the colour of who wrote it, the model's own on top.
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

/** Who a token is from: a word of the visitor, what was filled in, or the model's own token. */
const KINDS = ["you", "filled", "own"] as const;
type Kind = (typeof KINDS)[number];
/** Tokens of one kind in a block, from its foot up. */
export interface Cell {
  by: Kind;
  foot: number;
  top: number;
}
/** A block in pixels: its edges, and its cells from the lowest up. */
export interface Block {
  left: number;
  right: number;
  cells: Cell[];
  tokens: number;
}

/** The kinds of the tokens of a pass, in order. */
const kindsOf = ({ low, high, filled }: Corner): Kind[] =>
  Array.from({ length: high - low }, (_, token) => {
    if (token === high - low - 1) return "own";
    return filled[token] ? "filled" : "you";
  });

/** A cell for each token; those that would be too low are one for each kind. */
function cellsOf(corner: Corner, y: (tokens: number) => number): Cell[] {
  const kinds = kindsOf(corner);
  const isFine = y(0) - y(1) >= CELL;
  const byKind = KINDS.map((by) => ({ by, count: kinds.filter((kind) => kind === by).length }));
  const parts = isFine ? kinds.map((by) => ({ by, count: 1 })) : byKind;
  let tokens = corner.low;
  return parts
    .filter(({ count }) => count)
    .map(({ by, count }) => {
      const foot = y(tokens);
      tokens += count;
      return { by, foot, top: y(tokens) };
    });
}

/** The blocks of a player's corners. */
export const blocksOf = (
  corners: readonly Corner[],
  x: (corner: Corner) => number,
  y: (tokens: number) => number,
  start: number,
): Block[] =>
  corners.map((corner, k) => ({
    left: k ? x(corners[k - 1]) : start,
    right: x(corner),
    cells: cellsOf(corner, y),
    tokens: corner.high - corner.low,
  }));

function figureTemplate({ left, right, cells, tokens }: Block) {
  const words = `+${tokens}`;
  const { foot } = cells[0];
  const { top } = cells[cells.length - 1];
  const isInside = foot - top >= INSIDE;
  // Narrow stairs are steep: a figure above a step would be on the next one.
  const least = isInside ? LETTER * words.length + MARGIN : ABOVE;
  if (right - left < least) return nothing;
  const y = isInside ? (foot + top) / 2 + BASE.below : top - BASE.above;
  return svg`<text class="hsd-gm-gain" x=${(left + right) / 2} y=${y}
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
