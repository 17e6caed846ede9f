// The part of a run's time that is in view, and how it moves. Times are nanoseconds, places pixels.
// Pure.
import type { TimeSpan } from "./spans";

/** Doublings of the zoom. */
export const CLOSEST = 12;

export interface Sight {
  from: number;
  to: number;
  /** Pixels of the view, and of a nanosecond. */
  width: number;
  scale: number;
}

/** What is in view of a run that lasts until `end`, zoomed and scrolled. */
export function sightOf(end: number, width: number, zoom: number, scrolled: number): Sight {
  const scale = (width * 2 ** zoom) / end;
  const from = scrolled / scale;
  return { from, to: Math.min(end, from + width / scale), width, scale };
}

/** The share of a view that is less than a pixel. */
const PIXELS = 1000;
/** Whether a view begins at a time: one that is scrolled to whole pixels does all the same. */
export const beginsAt = ({ from, to }: Sight, time: number): boolean =>
  Math.abs(from - time) < (to - from) / PIXELS;

export const xOf = ({ from, scale }: Sight, time: number): number => (time - from) * scale;
export const timeAt = ({ from, scale }: Sight, x: number): number => from + x / scale;
export const middleOf = ({ start_ns, duration_ns }: TimeSpan): number => start_ns + duration_ns / 2;

export const clampZoom = (zoom: number): number => Math.max(0, Math.min(CLOSEST, zoom));
/** The zoom by which a time fills the view. */
export const zoomFor = (end: number, time: number): number => Math.log2(end / Math.max(1, time));

/** The time that keeps its place under a zoom: the middle of a span in view, else of the view. */
export function heldBy({ from, to }: Sight, span: TimeSpan | null): number {
  const middle = span ? middleOf(span) : NaN;
  return middle >= from && middle <= to ? middle : (from + to) / 2;
}

/** How a span comes into view: the view is as it should be, is scrolled, or is zoomed out. */
export function revealing({ from, to }: Sight, span: TimeSpan): "nothing" | "scroll" | "zoom" {
  if (span.duration_ns > to - from) return "zoom";
  const isInView = span.start_ns >= from && span.start_ns + span.duration_ns <= to;
  return isInView ? "nothing" : "scroll";
}
