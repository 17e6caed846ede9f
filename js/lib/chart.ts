// What charts of a run share: a frame with its scales, axes, and labels that do not touch.
import { html, nothing, svg } from "lit-html";

/** Pixels of a drawing, and of its margins. */
type Size = Record<"width" | "height" | "left" | "right" | "top" | "bottom", number>;
export type Frame = ReturnType<typeof frameOf>;

/** The scales of a drawing from 0 to `mostX` across and to `mostY` up. */
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
    /** The value at a pixel from the left. */
    valueAt: (pixel: number) => (pixel - size.left) / across,
  };
}

/**
 * Round numbers that divide `from` … `most` into about `parts`: multiples of 1, 2 or 5 times a
 * power of ten, one of them above the first.
 */
export function ticks(most: number, parts: number, from = 0): number[] {
  if (!(most > from)) return [0];
  const raw = (most - from) / parts;
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = [1, 2, 5, 10].map((k) => k * power);
  const wide = steps.find((size) => size >= raw) ?? raw;
  // An axis has a number above its first one.
  const step = wide <= most - from ? wide : (steps.findLast((size) => size <= most - from) ?? wide);
  const first = Math.ceil(from / step - 1e-9);
  return Array.from(
    { length: Math.floor(most / step + 1e-9) - first + 1 },
    (_, k) => (first + k) * step,
  );
}
/** Pixels of a character of an axis, at least. */
const LETTER = 5.6;

/** Lines and numbers of the axis upwards, and its name above them. */
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
/**
 * Numbers of the axis across, and its name at its end in the place of numbers that it would touch.
 */
export function axisX(f: Frame, parts: number, words: (value: number) => string, name = "") {
  const end = Math.min(f.width, f.end + 14);
  const free = name ? end - LETTER * name.length - 12 : Infinity;
  const numbers = ticks(f.mostX, parts).map((v) => {
    // A round number has no empty digits: 50 ms beside 100 ms.
    const said = v ? words(v).replace(/\.0+(?=\D|$)/, "") : "0";
    const anchor = !v ? "start" : f.x(v) > f.width - 50 && !name ? "end" : "middle";
    if (f.x(v) + (LETTER / 2) * said.length > free) return nothing;
    return svg`<text class="hsd-tick" x=${f.x(v)} y=${f.foot + 16}
      text-anchor=${anchor}>${said}</text>`;
  });
  if (!name) return numbers;
  return [
    ...numbers,
    svg`<text class="hsd-axis" x=${end} y=${f.foot + 16} text-anchor="end">${name}</text>`,
  ];
}

/** Move labels down until no two at nearby places are closer than `gap`. */
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

/** Call `act` when a node's size has changed; returns a function that stops. */
export function onResize(node: Element, act: () => void): () => void {
  let size = "";
  const seen = new ResizeObserver(() => {
    const now = `${node.clientWidth} ${node.clientHeight}`;
    if (now !== size) act();
    size = now;
  });
  seen.observe(node);
  return () => seen.disconnect();
}
/** A bar along a path, in the colour and the texture of its source. */
export const mark = (family: string, d: string) =>
  svg`<g data-family=${family}><path class="hsd-mark" d=${d}></path><path class="hsd-mark hsd-grain"
    d=${d}></path></g>`;
/** The sample of a source in a legend. */
export const sample = (family: string) =>
  html`<svg class="hsd-swatch" width="12" height="12" aria-hidden="true">
    ${mark(family, "M6 12V0")}
  </svg>`;
