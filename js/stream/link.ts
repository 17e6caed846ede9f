// The line from a source to its copy, in the pixels of the text. Pure.

export type Box = Record<"left" | "right" | "top" | "bottom", number>;

/** Pixels by which the tops of boxes of one line may differ, and that a line rises above a row. */
const SAME_LINE = 6;
const RISE = 16;
/** Pixels between the end of a line and its box, and of the arrow at its end. */
const APART = 2;
const ARROW = 6;
/** Pixels down from which a line goes beside the text; between it and the text; its corners. */
const LONG = 90;
const GUTTER = 6;
const ROUND = 5;

/** One box for each line of a passage. */
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

/** A line with the place of its arrow's point; it points down. */
export interface Link {
  d: string;
  x: number;
  y: number;
}

/** A point from which a line begins or at which it ends. */
type Point = Record<"x" | "y", number>;

/** Over both, where they are in one line. */
function over(from: Point, to: Point): string {
  const top = Math.min(from.y, to.y) - RISE;
  return `M${from.x} ${from.y}C${from.x} ${top} ${to.x} ${top} ${to.x} ${to.y}`;
}
/** A curve down. */
function down(from: Point, to: Point): string {
  const bend = Math.max(RISE, Math.round((to.y - from.y) * 0.55));
  const [low, high] = [from.y + bend, to.y - bend];
  return `M${from.x} ${from.y}C${from.x} ${low} ${to.x} ${high} ${to.x} ${to.y}`;
}
/**
 * Between the lines of the text to its nearer edge, and down beside it: long lines would cross it.
 */
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
 * From below the last line of a source to above the first one of its copy, in a text of this width;
 * over both where they are in one line. Null: one of them is not drawn.
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
