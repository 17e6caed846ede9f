// A responsive figure with pointer and arrow-key navigation.
import { draw, focusable, followTheme, make } from "./dom";

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Axis labels: below `foot` (pixels) and left of the box. */
export function axisNames(svg: SVGElement, box: Box, foot: number, x: string, y: string) {
  const middle = (box.top + box.bottom) / 2;
  svg.append(
    draw("text", { x: (box.left + box.right) / 2, y: foot + 39, "text-anchor": "middle", class: "hsd-axis" }, x),
    draw(
      "text",
      { x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})`, class: "hsd-axis" },
      y,
    ),
  );
}
/** A tick label, below `foot` or left of the box. */
export const tickBelow = (x: number, foot: number, words: string) =>
  draw("text", { x, y: foot + 17, "text-anchor": "middle", class: "hsd-tick" }, words);
export const tickBeside = (box: Box, y: number, words: string) =>
  draw("text", { x: box.left - 8, y: y + 4, "text-anchor": "end", class: "hsd-tick" }, words);

/**
 * The parts of a figure in `el`: a title; a frame with a read-out below it (`left`), `aside` beside them; the source line.
 *
 * width(): current frame width (pixels, at least 240). at(event): pointer position in the drawing's pixels, or null.
 * live({paint, point, key}): point(event | null) on pointer events, null on leave without focus; key(event) on keys without
 * modifiers, returns whether it was handled; paint() on a changed width. remove() removes everything.
 */
export function figureIn(el: HTMLElement, bodyClass: string) {
  const root = make("section", "hsd-latency");
  const unfollow = followTheme(root, { behind: "--paper" });
  const title = make("h3");
  const body = make("div", bodyClass);
  const left = make("div", "hsd-plot-left");
  const frame = focusable(make("div", "hsd-plot-frame"));
  frame.setAttribute("role", "group");
  const readout = make("p", "hsd-plot-readout");
  readout.setAttribute("role", "status");
  left.append(frame, readout);
  const aside = make("div", "hsd-plot-aside");
  body.append(left, aside);
  const source = make("p", "hsd-source");
  root.append(title, body, source);
  el.append(root);

  let shownAt = 0;
  let unwatch = () => {};
  const width = () => {
    shownAt = frame.clientWidth;
    return Math.max(240, shownAt);
  };
  function at(e: PointerEvent | MouseEvent) {
    const svg = frame.querySelector("svg");
    if (!svg) return null;
    const seen = svg.getBoundingClientRect();
    const scale = Math.max(240, shownAt) / seen.width;
    return [(e.clientX - seen.left) * scale, (e.clientY - seen.top) * scale];
  }
  function live({
    paint,
    point,
    key,
  }: {
    paint: () => void;
    point: (event: PointerEvent | null) => void;
    key: (event: KeyboardEvent) => boolean;
  }) {
    frame.addEventListener("pointermove", point);
    frame.addEventListener("pointerdown", point);
    frame.addEventListener("pointerleave", () => {
      if (document.activeElement !== frame) point(null);
    });
    frame.addEventListener("blur", () => point(null));
    frame.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || !key(e)) return;
      e.preventDefault();
      e.stopPropagation();
    });
    const resized = new ResizeObserver(() => {
      if (frame.clientWidth && frame.clientWidth !== shownAt) paint();
    });
    resized.observe(frame);
    unwatch = () => resized.disconnect();
  }
  const remove = () => {
    unwatch();
    unfollow();
    root.remove();
  };
  return { root, title, left, frame, readout, aside, source, width, at, live, remove };
}
