// Draws staircases for the player, the race, the introduction and the visitor's draft.
import { svg } from "lit-html";
import { type Frame, mark } from "../lib/chart";
import type { Stairs } from "./stairs";

/**
 * Return SVG path data: the treads as one line, the time between rounds as another, and the risers
 * as one path per source family, without gaps (for its texture) if tokens are too low for them.
 */
export function paths(
  stairs: Pick<Stairs, "treads">,
  sources: { source: string }[],
  family: (source: string) => string,
  at: Pick<Frame, "x" | "y">,
) {
  const risers = new Map<string, string>();
  let line = "";
  let between = "";
  let before = stairs.treads[0]?.from ?? 0;
  const p = (v: number) => v.toFixed(2);
  for (const { from, to, low, high } of stairs.treads) {
    let last = "";
    if (p(at.x(from)) !== p(at.x(before)))
      between += `M${p(at.x(before))} ${p(at.y(low))}H${p(at.x(from))}`;
    before = to;
    line += `M${p(at.x(from))} ${p(at.y(low))}H${p(at.x(to))}`;
    for (let k = low; k < high; k++) {
      const name = family(sources[k]?.source ?? "target");
      const gap = at.y(k) - at.y(k + 1) > 3 ? 0.6 : 0;
      const start = gap || name !== last ? `M${p(at.x(to))} ${p(at.y(k))}` : "";
      risers.set(name, `${risers.get(name) ?? ""}${start}V${p(at.y(k + 1) + gap)}`);
      last = name;
    }
  }
  return { line, between, risers };
}
export function drawStairs(...given: Parameters<typeof paths>) {
  const { line, between, risers } = paths(...given);
  return svg`<path class="hsd-stairs-treads" d=${line}></path><path class="hsd-stairs-between"
    d=${between}></path>${[...risers].map(([family, d]) => mark(family, d))}`;
}
/** The dotted ramp of plain decoding, from the origin to a point. */
export const drawRamp = (f: Frame, x: number, y: number) => {
  const d = `M${f.x(0)} ${f.y(0)}L${f.x(x)} ${f.y(y)}`;
  return svg`<path class="hsd-stairs-plain" d=${`${d}V${f.y(0)}Z`}></path><path
    class="hsd-stairs-ramp" d=${d}></path>`;
};
