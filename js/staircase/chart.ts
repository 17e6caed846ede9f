// The picture of the player: the staircase of a run with the cursor.
import { nothing, svg } from "lit-html";
import { axisX, axisY, type Frame, frameOf } from "../lib/chart";
import type { Cursor } from "../lib/cursor";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { drawRamp, drawStairs } from "./drawing";
import { endsOf, type Label, LIFT, labelsOf, timeText } from "./ends";
import type { Picture } from "./picture";
import { type Stairs, stairsOf, stepAt, timeOf } from "./stairs";
import { type StepLabel, stepLabels } from "./steps";

const MARGIN = { left: 40, right: 14, top: 30, bottom: 22 };
/** Width in pixels below which labels are short. */
const NARROW = 520;
/** Minimum distance of ticks on the axes, in pixels. */
const TICK = { across: 110, up: 48 };

/** Return the frame of a staircase, with another row for labels if one of them is lifted. */
function frameFor(stairs: Stairs, width: number, height: number, isLifted: boolean): Frame {
  const top = MARGIN.top + (isLifted ? LIFT : 0);
  const latest = Math.max(stairs.end, stairs.plain ?? 0, 1);
  return frameOf({ ...MARGIN, top, width, height }, latest, Math.max(1, stairs.tokens));
}

function labelTemplate({ at, title, words, cls, x, lift }: Label, frame: Frame, tokens: number) {
  const top = frame.y(tokens);
  return svg`<circle class=${cls} cx=${frame.x(at)} cy=${top} r="4"></circle>
    <text class="hsd-stairs-title ${cls}" x=${x} y=${top - 18 - lift}
      text-anchor="middle">${title}</text>
    <text class="hsd-stairs-note" x=${x} y=${top - 6 - lift}
      text-anchor="middle">${words}</text>`;
}

const stepTemplate = ({ words, x, y }: StepLabel) =>
  svg`<text class="hsd-stairs-note" x=${x} y=${y} text-anchor="end">${words}</text>`;

/** The veil over the part after the cursor while the run is playing. */
function later({ top, foot, end }: Frame, x: number) {
  return svg`<rect class="hsd-stairs-later" x=${x} y=${top}
    width=${Math.max(0, end - x + 6)} height=${foot - top}></rect>`;
}
/** The line under the pointer. */
function pointer({ top, foot }: Frame, x: number) {
  return svg`<line class="hsd-stairs-pointer" x1=${x} x2=${x}
    y1=${top} y2=${foot}></line>`;
}
/** The cursor, at the height of the number of tokens shown. */
function head({ top, foot, y }: Frame, x: number, tokens: number, isPinned: boolean) {
  return svg`<g class=${isPinned ? "hsd-stairs-head hsd-stairs-pinned" : "hsd-stairs-head"}><line
    x1=${x} x2=${x} y1=${top} y2=${foot}></line
    ><circle r="4.5" cx=${x} cy=${y(tokens)}></circle></g>`;
}

/** Return the staircase of a run, `width` by `height` pixels. */
export function chartOf(store: Store, palette: Palette, width: number, height: number): Picture {
  const stairs = stairsOf(store);
  const { timed, plain, tokens } = stairs;
  const { events, rounds } = store.index();
  const labels = labelsOf(
    endsOf(store, stairs, width < NARROW),
    frameFor(stairs, width, height, false),
  );
  const isLifted = labels.some(({ lift }) => lift > 0);
  const frame = frameFor(stairs, width, height, isLifted);
  const rows = Math.max(2, (frame.foot - frame.top) / TICK.up);
  const columns = (frame.end - frame.left) / TICK.across;
  const time = (ns: number) => timeText(stairs, ns);
  // The part that does not change with the cursor.
  const still = svg`${axisY(frame, rows, String, "tokens")}${axisX(
    frame,
    columns,
    time,
    timed ? "time" : "rounds",
  )}
    ${plain === null ? nothing : drawRamp(frame, plain, tokens)}
    ${drawStairs(stairs, store.tokens, palette.family, frame)}${stepLabels(
      stairs.treads,
      frame,
    ).map(stepTemplate)}${labels.map((label) => labelTemplate(label, frame, tokens))}`;

  function drawn({ step, shown, hover, pinned }: Cursor) {
    const event = events[step];
    const xOf = (at: number) => frame.x(timeOf(stairs, at, rounds));
    const x = event ? xOf(step) : 0;
    const isOver = hover !== null && hover.step !== step;
    return svg`<svg class="hsd-stairs" viewBox="0 0 ${frame.width} ${frame.height}"
      aria-hidden="true">${still}
      ${shown === null ? nothing : later(frame, x)}
      ${isOver ? pointer(frame, xOf(hover.step)) : nothing}
      ${event ? head(frame, x, event.shown, pinned) : nothing}</svg>`;
  }
  return { stepAt: (pixel) => stepAt(stairs, frame.valueAt(pixel), rounds), drawn };
}
