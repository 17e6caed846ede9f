// Shared parts of charts: a frame with scales, axes, and labels that do not overlap.
import { html, nothing, svg } from "lit-html";

/** Size and margins of a drawing in pixels. */
type Size = Record<"width" | "height" | "left" | "right" | "top" | "bottom", number>;
export type Frame = ReturnType<typeof frameOf>;

/** Return the scales of a drawing: horizontally from 0 to `mostX`, vertically to `mostY`. */
export function frameOf(size: Size, mostX: number, mostY: number) {
  const foot = size.height - size.bottom;
  const end = size.width - size.right;
  const across = Math.max(1, end - size.left) / (mostX || 1);
  const up = Math.max(1, foot - size.top) / (mostY || 1);
  return {
    ...size,
    foot,
    end,
    mostX,
    mostY,
    x: (value: number) => size.left + value * across,
    y: (value: number) => foot - value * up,
    /** Return the horizontal value at a pixel from the left. */
    valueAt: (pixel: number) => (pixel - size.left) / across,
  };
}

/**
 * Return round numbers that divide `from` … `most` into about `parts` parts: multiples of 1, 2 or 5
 * times a power of ten, at least one of them above `from`.
 */
export function ticks(most: number, parts: number, from = 0): number[] {
  if (!(most > from)) return [0];
  const raw = (most - from) / parts;
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = [1, 2, 5, 10].map((k) => k * power);
  const wide = steps.find((size) => size >= raw) ?? raw;
  // An axis has at least one number above its first.
  const step = wide <= most - from ? wide : (steps.findLast((size) => size <= most - from) ?? wide);
  const first = Math.ceil(from / step - 1e-9);
  return Array.from(
    { length: Math.floor(most / step + 1e-9) - first + 1 },
    (_, k) => (first + k) * step,
  );
}
/** Minimum width of a character on an axis, in pixels. */
const LETTER = 5.6;

/** Grid lines and numbers of the vertical axis, with its name above them. */
export function axisY(
  f: Frame,
  parts: number,
  words: (value: number) => string = String,
  name = "",
) {
  const lines = ticks(f.mostY, parts).map(
    (v) => svg`<line class="hsd-grid" x1=${f.left} x2=${f.end} y1=${f.y(v)} y2=${f.y(v)}></line
      ><text class="hsd-tick" x=${f.left - 7} y=${f.y(v) + 4} text-anchor="end">${words(v)}</text>`,
  );
  if (!name) return lines;
  const x = Math.max(0, f.left - 7 - LETTER * name.length);
  return [...lines, svg`<text class="hsd-axis" x=${x} y=${f.top - 9}>${name}</text>`];
}
/** Numbers of the horizontal axis, and its name at the end instead of numbers that it overlaps. */
export function axisX(f: Frame, parts: number, words: (value: number) => string, name = "") {
  const end = Math.min(f.width, f.end + 14);
  const free = name ? end - LETTER * name.length - 12 : Infinity;
  const numbers = ticks(f.mostX, parts).map((v) => {
    // Drop decimal zeros: 50 ms beside 100 ms.
    const text = v ? words(v).replace(/\.0+(?=\D|$)/, "") : "0";
    const anchor = !v ? "start" : f.x(v) > f.width - 50 && !name ? "end" : "middle";
    if (f.x(v) + (LETTER / 2) * text.length > free) return nothing;
    return svg`<text class="hsd-tick" x=${f.x(v)} y=${f.foot + 16}
      text-anchor=${anchor}>${text}</text>`;
  });
  if (!name) return numbers;
  return [
    ...numbers,
    svg`<text class="hsd-axis" x=${end} y=${f.foot + 16} text-anchor="end">${name}</text>`,
  ];
}

/** Move labels down until no two of similar x are closer than `gap` pixels. */
export function spread<P extends { x: number; y: number }>(
  places: P[],
  gap: number,
  near = Infinity,
): P[] {
  const sorted = [...places].sort((a, b) => a.y - b.y);
  sorted.forEach((p, k) => {
    for (const other of sorted.slice(0, k))
      if (Math.abs(other.x - p.x) < near) p.y = Math.max(p.y, other.y + gap);
  });
  return places;
}

/** Call `act` when the size of a node changes; returns a function that stops. */
export function onResize(node: Element, act: () => void): () => void {
  let size = "";
  const observer = new ResizeObserver(() => {
    const newSize = `${node.clientWidth} ${node.clientHeight}`;
    if (newSize !== size) act();
    size = newSize;
  });
  observer.observe(node);
  return () => observer.disconnect();
}
/** A bar along a path, in the colour and texture of a source family. */
export const mark = (family: string, d: string) =>
  svg`<g data-family=${family}><path class="hsd-mark" d=${d}></path><path class="hsd-mark hsd-grain"
    d=${d}></path></g>`;
/** The swatch of a source family in a legend. */
export const sample = (family: string) =>
  html`<svg class="hsd-swatch" width="12" height="12" aria-hidden="true">
    ${mark(family, "M6 12V0")}
  </svg>`;
