// Geometry of the line from a source to its copy, in pixels of the text. Pure functions.

export type Box = Record<"left" | "right" | "top" | "bottom", number>;

/** Maximum difference of tops within one line of text, and rise of an arc above it, in pixels. */
const SAME_LINE = 6;
const RISE = 16;
/** Gap between the end of a line and its box, and length of its arrow, in pixels. */
const APART = 3;
const ARROW = 7;
/** Height from which a line runs beside the text; its gap to the text; its corner radius. */
const LONG = 36;
const GUTTER = 6;
const ROUND = 5;

/** Join the boxes of a passage to one box per line of text. */
export function linesOf(boxes: readonly Box[]): Box[] {
  const lines: Box[] = [];
  for (const box of boxes) {
    if (box.right <= box.left) continue;
    const line = lines.at(-1);
    if (line && Math.abs(line.top - box.top) <= SAME_LINE && box.left >= line.left) {
      line.right = Math.max(line.right, box.right);
      line.bottom = Math.max(line.bottom, box.bottom);
    } else lines.push({ ...box });
  }
  return lines;
}

/** Path data of a line, and the point of its arrow, which points down. */
export interface Link {
  d: string;
  x: number;
  y: number;
}

/** An end of a line. */
type Point = Record<"x" | "y", number>;

/** Return an arc over both ends, if they are in one line of text. */
function over(from: Point, to: Point): string {
  const top = Math.min(from.y, to.y) - RISE;
  return `M${from.x} ${from.y}C${from.x} ${top} ${to.x} ${top} ${to.x} ${to.y}`;
}
/** Return a curve down. */
function down(from: Point, to: Point): string {
  const bend = Math.max(RISE, Math.round((to.y - from.y) * 0.55));
  const [low, high] = [from.y + bend, to.y - bend];
  return `M${from.x} ${from.y}C${from.x} ${low} ${to.x} ${high} ${to.x} ${to.y}`;
}
/** Return a line to the nearer edge of the text and down beside it, instead of across the text. */
function beside(from: Point, to: Point, width: number): string {
  const isLeft = from.x + to.x < width;
  const edge = isLeft ? -GUTTER : width + GUTTER;
  const turn = isLeft ? edge + ROUND : edge - ROUND;
  const first = from.y + APART;
  const last = to.y - ARROW;
  return (
    `M${from.x} ${from.y}V${first}H${turn}Q${edge} ${first} ${edge} ${first + ROUND}` +
    `V${last - ROUND}Q${edge} ${last} ${turn} ${last}H${to.x}V${to.y}`
  );
}

/**
 * Return the line from below the last line of a source to above the first line of its copy, in a
 * text of this width; an arc over both if they are in one line. Null: one of them is not drawn.
 */
export function linkOf(source: readonly Box[], copy: readonly Box[], width: number): Link | null {
  const start = linesOf(source).at(-1);
  const end = linesOf(copy)[0];
  if (!start || !end) return null;
  const x = Math.round((end.left + end.right) / 2);
  const y = Math.round(end.top) - APART;
  const to = { x, y };
  const from = { x: Math.round((start.left + start.right) / 2), y: Math.round(start.top) };
  if (end.top <= start.bottom) return { d: over(from, to), x, y };
  from.y = Math.round(start.bottom) + APART;
  const d = y - from.y > LONG ? beside(from, to, width) : down(from, to);
  return { d, x, y };
}
