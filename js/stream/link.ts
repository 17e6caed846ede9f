// Geometry of the line from a source to its copy, in pixels of the text. Pure functions.

export type Box = Record<"left" | "right" | "top" | "bottom", number>;

/** Maximum difference of tops within one line of text, and rise of an arc above it, in pixels. */
const SAME_LINE = 6;
const RISE = 9;
/** Gap between the end of a line and its box, and length of its arrow, in pixels. */
const APART = 3;
const ARROW = 7;
/** Height from which a line runs in the margin. */
const LONG = 36;
/** Pixels from the text to the ends and to the far side of a line there, and its corner radius. */
const EDGE = 1;
const GUTTER = 10;
const ROUND = 3;

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

/** Path data of a line and of its arrow. */
export interface Link {
  d: string;
  head: string;
}
const middleOf = ({ top, bottom }: Box) => Math.round((top + bottom) / 2);

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
/**
 * Return a bracket in the margin of a text of this width, from the line of a source to that of its
 * copy: at the nearer edge, since a line across the text would cross words.
 */
function beside(source: Box, copy: Box, width: number): Link {
  const isLeft = source.left + source.right + copy.left + copy.right < 2 * width;
  const inner = isLeft ? -EDGE : width + EDGE;
  const edge = isLeft ? -GUTTER : width + GUTTER;
  const turn = isLeft ? edge + ROUND : edge - ROUND;
  const first = middleOf(source);
  const last = middleOf(copy);
  return {
    d:
      `M${inner} ${first}H${turn}Q${edge} ${first} ${edge} ${first + ROUND}` +
      `V${last - ROUND}Q${edge} ${last} ${turn} ${last}H${inner}`,
    head: `M${inner} ${last}l${isLeft ? -ARROW : ARROW} -4v8z`,
  };
}

/**
 * Return the line from the last line of a source to the first line of its copy, in a text of this
 * width: an arc over both if they are in one line, a curve between neighbouring lines, else a
 * bracket in the margin. Null: one of them is not drawn.
 */
export function linkOf(source: readonly Box[], copy: readonly Box[], width: number): Link | null {
  const start = linesOf(source).at(-1);
  const end = linesOf(copy)[0];
  if (!start || !end) return null;
  const x = Math.round((end.left + end.right) / 2);
  const y = Math.round(end.top) - APART;
  const head = `M${x - 4} ${y - ARROW + 1}h8l-4 ${ARROW}z`;
  const from = { x: Math.round((start.left + start.right) / 2), y: Math.round(start.top) };
  if (end.top <= start.bottom) return { d: over(from, { x, y }), head };
  from.y = Math.round(start.bottom) + APART;
  if (y - from.y > LONG) return beside(start, end, width);
  return { d: down(from, { x, y }), head };
}
