// Templates of the timeline: the visible part of its strip, and the controls, names and texts
// around it.
import { html, nothing, svg } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { ticks } from "../lib/chart";
import { slider } from "../lib/fields";
import type { Round } from "../lib/tables";
import { duration } from "../lib/words";
import { HATCH, hasNumber, type Row, type Strip } from "./rows";
import { beginsAt, CLOSEST, type Sight, xOf } from "./sight";
import { clock, type TimeSpan, timeText } from "./spans";

/** Height of the axis, and of the margin below the last row, in pixels. */
const AXIS = 22;
const FOOT = 6;
/** Minimum distance of ticks on a wide and a narrow view, and the width of a narrow view. */
const TICK = { wide: 110, narrow: 60 };
const NARROW = 500;
/** Height below which a row has no room for two lines of text. */
const LOW = 30;

interface PlacedRow {
  row: Row;
  top: number;
}
/** Return the rows with their tops. */
export function placed(rows: readonly Row[]): PlacedRow[] {
  let foot = AXIS;
  return rows.map((row) => {
    const top = foot;
    foot += row.high;
    return { row, top };
  });
}
export const heightOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, row) => sum + row.high, AXIS + FOOT);

/** The state of the picture: the visible strip, the marked call or gap, and the round. */
export interface Picture {
  strip: Strip;
  sight: Sight;
  looked: TimeSpan | null;
  round: Round | undefined;
  isPinned: boolean;
}

/** Lines and labels at round times; 0 is the end of prefill, as in the staircase. */
function axis(sight: Sight, zero: number, height: number) {
  const { from, to, width } = sight;
  const room = width < NARROW ? TICK.narrow : TICK.wide;
  const times = ticks(to - zero, Math.max(2, Math.floor(width / room)), from - zero);
  const words = timeText(times);
  return times.map((time, k) => {
    const x = xOf(sight, time + zero);
    let anchor = "middle";
    if (x > width - 34) anchor = "end";
    else if (x < 20) anchor = "start";
    return svg`<line x1=${x} x2=${x} y1=${AXIS - 4} y2=${height} class="hsd-tl-tick"></line
      ><text x=${Math.min(width - 2, Math.max(2, x))} y="12" class="hsd-tl-ticktext"
        text-anchor=${anchor}>${words[k]}</text>`;
  });
}

/** The frame around the cursor's round. */
function roundMark({ sight, round, isPinned }: Picture, height: number) {
  if (!round) return nothing;
  return svg`<rect class=${isPinned ? "hsd-tl-here hsd-pinned" : "hsd-tl-here"}
    x=${xOf(sight, round.start_ns) - 1} y=${AXIS} rx="3"
    width=${Math.max(3, round.duration_ns * sight.scale + 2)}
    height=${height - AXIS - 1}></rect>`;
}

/** A pattern of lines in the colour of the page, which hatches the columns below it. */
const hatch = svg`<defs><pattern id=${HATCH} width="5" height="5"
  patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hsd-tl-gap"
  d="M1 0v5"></path></pattern></defs>`;

/** A jagged edge at the beginning of an axis that omits the prefill. */
function cutMark({ strip, sight }: Picture, height: number) {
  if (!strip.isTimed || strip.zero <= 0 || !beginsAt(sight, strip.zero)) return nothing;
  const teeth = "l4 4l-4 4".repeat(Math.ceil((height - AXIS) / 8));
  return svg`<path class="hsd-tl-cut" d=${`M1 ${AXIS}${teeth}`}></path>`;
}

export function pictureTemplate(picture: Picture) {
  const { strip, sight, looked } = picture;
  const { from, to, width } = sight;
  const height = heightOf(strip.rows);
  const lane = ({ row, top }: PlacedRow) =>
    svg`<g transform="translate(0 ${top})" class="hsd-tl-lane"
      data-family=${row.family ?? nothing}>${row.picture(sight, looked)}</g>`;
  const lanes = guard([strip.rows, width, from, to, looked], () => placed(strip.rows).map(lane));
  return svg`<svg width=${width} height=${height} viewBox="0 0 ${width} ${height}"
    aria-hidden="true"
    >${hatch}${axis(sight, strip.zero, height)}${lanes}${roundMark(picture, height)}
    ${cutMark(picture, height)}</svg>`;
}

/** The state of the controls and texts around the strip. */
export interface Surroundings {
  title: string;
  strip: Strip;
  sight: Sight;
  zoom: number;
  hasRound: boolean;
  /** Description of the marked call, gap or round, and whether it is announced. */
  words: string;
  isAnnounced: boolean;
}
export interface TimelineActions {
  zoom(to: number): void;
  showRound(): void;
  showAll(): void;
}

function rangeText({ strip, sight, zoom }: Surroundings): string {
  if (!strip.calls.length) return "no calls yet";
  const { zero, end } = strip;
  const isThere = beginsAt(sight, zero);
  const from = isThere ? 0 : sight.from - zero;
  const range = `Shown: ${clock(from)} to ${clock(sight.to - zero)}`;
  if (isThere && zero > 0 && strip.isTimed) {
    return `${range}; cut before it: prefill, ${duration(zero)}`;
  }
  const total = zoom ? ` of ${duration(end)}` : "";
  const prefill = sight.from < zero ? ", 0 at the end of prefill" : "";
  return `${range}${total}${prefill}`;
}

function nameTemplate({ row, top }: PlacedRow) {
  return html`<div
    class=${row.high < LOW ? "hsd-tl-name hsd-low" : "hsd-tl-name"}
    .style=${`top: ${top}px; height: ${row.high - 4}px`}
  >
    <span class="hsd-tl-who" data-family=${row.family ?? nothing}>${row.name}</span
    ><span class="hsd-tl-share">${row.more}</span>
  </div>`;
}

/** The view around its strip in `area`. */
export function timelineTemplate(shown: Surroundings, actions: TimelineActions, area: Element) {
  const { title, strip, sight, zoom, hasRound, words, isAnnounced } = shown;
  const hasNumbers = strip.isTimed && hasNumber(strip.calls, sight);
  const ofNumbers = hasNumbers ? " Number in a bar: tokens fed." : "";
  return html`<div class="hsd-tl-bar">
      <h3>
        ${title}
        <span class="hsd-tl-range hsd-note">${rangeText(shown)}</span>
      </h3>
      <div class="hsd-tl-buttons">
        <label>Zoom ${slider(0, CLOSEST, 0.25, zoom, actions.zoom)}</label>
        <button ?disabled=${!hasRound} @click=${actions.showRound}>This round</button
        ><button @click=${actions.showAll}>Whole run</button>
      </div>
    </div>
    <div class="hsd-tl-chart">
      <div class="hsd-tl-names">${placed(strip.rows).map(nameTemplate)}</div>
      ${area}
    </div>
    <div class="hsd-tl-foot">
      <p class="hsd-tl-readout" aria-live=${isAnnounced ? "polite" : "off"}>${words}</p>
      <p class="hsd-note">${strip.note}${ofNumbers}</p>
    </div>`;
}
