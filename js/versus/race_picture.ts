// The SVG picture of a race at a time: the staircases, the finish, the clock and the letters.
import { svg } from "lit-html";
import { axisX, axisY, type Frame } from "../lib/chart";
import type { Palette } from "../lib/palette";
import { duration } from "../lib/words";
import { drawStairs } from "../staircase/drawing";
import { familyOf } from "./race_controls";
import { BADGE, crossingsOf, type Head, headsOf } from "./race_places";
import { type Runner, treadsUntil } from "./race_time";

/** Share of the height below the finish in which the axis has no other number. */
const NEAR = 0.08;
/** Pixels from the finish up to the name of the axis, above the number of the finish. */
const NAME_RISE = 16;

/** The colour of a run by its letter. */
type Colours = ReadonlyMap<string, string>;

/** The line of the finish at its number of tokens, with the times at which runs cross it. */
function finish(runs: readonly Runner[], colours: Colours, f: Frame, ns: number) {
  const y = f.top;
  const crossed = crossingsOf(runs, f).filter(({ at }) => at <= ns);
  return svg`<line class="hsd-vs-finish" x1=${f.left} x2=${f.width} y1=${y} y2=${y}></line>
    <text class="hsd-axis" x="0" y=${y - NAME_RISE}>tokens</text>
    <text class="hsd-stairs-title" x=${f.left - 7} y=${y + 4} text-anchor="end">${f.mostY}</text>
    ${crossed.map(
      ({ letter, words, at, x, row }) => svg`<circle class="hsd-stairs-end"
        data-family=${colours.get(letter)} cx=${f.x(at)} cy=${y} r="4"></circle
        ><text class="hsd-stairs-title" x=${x} y=${y - 10 - 16 * row}
        text-anchor="middle">${letter} ${words}</text>`,
    )}`;
}

function headTemplate({ letter, x, y, tokens }: Head, family: string, f: Frame, ns: number) {
  return svg`<g class="hsd-vs-head" data-family=${family}><circle class="hsd-stairs-end"
      cx=${f.x(ns)} cy=${f.y(tokens)} r="3.5"></circle
      ><rect x=${x - BADGE / 2} y=${y - BADGE / 2} width=${BADGE}
      height=${BADGE} rx="3"></rect><text x=${x} y=${y + 4} text-anchor="middle"
      >${letter}</text></g>`;
}

/** The picture; staircases end at the time, at the latest at the finish. */
export function picture(runs: readonly Runner[], palette: Palette, f: Frame, ns: number) {
  const now = f.x(ns);
  const colours = new Map(
    runs.map(({ letter, store }) => [letter, familyOf(store.meta.stack, palette)]),
  );
  const number = (tokens: number) => (tokens > (1 - NEAR) * f.mostY ? "" : String(tokens));
  return svg`<svg class="hsd-stairs" width=${f.width} height=${f.height}
    viewBox="0 0 ${f.width} ${f.height}" aria-hidden="true">
    ${axisY(f, 5, number)}${axisX(f, f.width / 120, duration, "time")}
    ${runs.map(({ letter, stairs, store }) => {
      const treads = treadsUntil(stairs, ns).filter(({ low }) => low < f.mostY);
      const family = colours.get(letter) ?? "";
      return svg`<g class="hsd-vs-track" data-family=${family}
        >${drawStairs({ treads }, store.tokens, () => family, f)}</g>`;
    })}
    <rect class="hsd-vs-beyond" x=${f.left + 12} y="0" width=${f.width} height=${f.top - 1}></rect>
    <line class="hsd-vs-now" x1=${now} x2=${now} y1=${f.top} y2=${f.foot}></line>
    ${finish(runs, colours, f, ns)}
    ${headsOf(runs, f, ns).map((head) =>
      headTemplate(head, colours.get(head.letter) ?? "", f, ns),
    )}</svg>`;
}
