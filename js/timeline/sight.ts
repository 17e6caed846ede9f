// The visible part of a run's time, and zooming. Times are in nanoseconds, positions in pixels.
// Pure functions.
import type { TimeSpan } from "./spans";

/** Largest zoom, in doublings. */
export const CLOSEST = 12;

export interface Sight {
  from: number;
  to: number;
  /** Width of the view in pixels, and pixels per nanosecond. */
  width: number;
  scale: number;
}

/** Return the visible part of a run that ends at `end`; `scrolled`: pixels scrolled. */
export function sightOf(end: number, width: number, zoom: number, scrolled: number): Sight {
  const scale = (width * 2 ** zoom) / end;
  const from = scrolled / scale;
  return { from, to: Math.min(end, from + width / scale), width, scale };
}

/** Inverse of the share of a view that is less than a pixel. */
const PIXELS = 1000;
/** Return whether a view begins at a time, up to the rounding of scrolling to whole pixels. */
export const beginsAt = ({ from, to }: Sight, time: number): boolean =>
  Math.abs(from - time) < (to - from) / PIXELS;

export const xOf = ({ from, scale }: Sight, time: number): number => (time - from) * scale;
export const timeAt = ({ from, scale }: Sight, x: number): number => from + x / scale;
export const middleOf = ({ start_ns, duration_ns }: TimeSpan): number => start_ns + duration_ns / 2;

export const clampZoom = (zoom: number): number => Math.max(0, Math.min(CLOSEST, zoom));
/** Return the zoom at which a duration fills the view. */
export const zoomFor = (end: number, time: number): number => Math.log2(end / Math.max(1, time));

/** Return the time that keeps its place in a zoom: the middle of a visible span, else the view. */
export function heldBy({ from, to }: Sight, span: TimeSpan | null): number {
  const middle = span ? middleOf(span) : NaN;
  return middle >= from && middle <= to ? middle : (from + to) / 2;
}

/** Return the action that makes a span visible: none, scrolling, or zooming out. */
export function revealing({ from, to }: Sight, span: TimeSpan): "nothing" | "scroll" | "zoom" {
  if (span.duration_ns > to - from) return "zoom";
  const isInView = span.start_ns >= from && span.start_ns + span.duration_ns <= to;
  return isInView ? "nothing" : "scroll";
}
