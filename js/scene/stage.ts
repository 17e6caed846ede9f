// Draws a scene at one time: floors with their labels and beams, chips, and the places that chips
// have left. Model output is inserted only as text.
import { html, nothing, render } from "lit-html";
import { classMap } from "lit-html/directives/class-map.js";
import { repeat } from "lit-html/directives/repeat.js";
import { setAttributes } from "../lib/dom";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { plural, VERDICT_MARKS } from "../lib/words";
import { draftText, passText } from "./labels";
import { beamBox, chipBox, floorBox, type Layout, leftBoxes } from "./layout";
import { type Beam, type Chip, moveAt, type Scene } from "./scene";
import { type Reading, token } from "./words";

/** The run and texts that a stage uses for all scenes of a view. */
export interface Sources {
  /** Prefix of the element ids of chips. */
  uid: string;
  store: Store;
  palette: Palette;
  reading: Reading;
}
/** The state of a stage. */
export interface StageState {
  scene: Scene;
  layout: Layout;
  /** Time of the scene, from 0 to 1. */
  time: number;
  /** Whether the scene is playing, with lit beams. */
  isPlayed: boolean;
  /** Whether the view is narrow, with brief labels. */
  isNarrow: boolean;
  /** Key of the selected chip, and whether it is pinned. */
  key: string | null;
  isPinned: boolean;
  /** Chip under the pointer, else the selected one. */
  chosen: Chip | null;
  /** Chips on the path to the described one. */
  path: ReadonlySet<Chip>;
}

/** Share of the scene for which a beam stays lit after its pass. */
const AFTERGLOW = 0.03;

/** The line of a forward pass; during the pass, a light moves over the chips. */
function beamTemplate(shown: StageState, beam: Beam, label: string) {
  const { time, isPlayed, layout } = shown;
  const isLit = isPlayed && time >= beam.from && time <= beam.to + AFTERGLOW;
  const sweep = Math.min(1, (time - beam.from) / Math.max(1e-9, beam.to - beam.from));
  const light = html`<i .style=${`left: ${(100 * sweep).toFixed(1)}%`}></i>`;
  const { left, top, width, height } = beamBox(layout, beam);
  const marks = { "hsd-sc-beam": true, "hsd-lit": isLit, "hsd-done": time >= beam.from };
  return html`<div
    class=${classMap(marks)}
    .style=${`top: ${top}px; left: ${left}px; width: ${width}px; --reach: ${height}px`}
    title=${label}
  >
    ${isLit ? light : nothing}
  </div>`;
}

/** A floor with its label above its chips. */
function floorTemplate({ layout }: StageState, floor: number, label: string) {
  const { top, width, height } = floorBox(layout, floor);
  return html`<div
    class=${top > 0 ? "hsd-sc-floor hsd-sc-below" : "hsd-sc-floor"}
    .style=${`top: ${top}px; width: ${width}px; height: ${height}px`}
  >
    <span class="hsd-sc-label">${label}</span>
  </div>`;
}

/** Floor `floor`, with the passes of level `floor` - 1 that lead to it. */
function passesTemplate({ store, reading }: Sources, shown: StageState, floor: number) {
  const { scene, isNarrow } = shown;
  const name = store.levelName(floor);
  const beams = scene.beams.filter((beam) => beam.floor === floor);
  const labelOf = (some: Beam[]) => passText(reading, some, name, isNarrow);
  return html`${floorTemplate(shown, floor, labelOf(beams))}
    ${beams.map((beam) => beamTemplate(shown, beam, labelOf([beam])))}`;
}

/** The places that a chip has left. */
function leftTemplates({ palette }: Sources, { layout, time }: StageState, chip: Chip) {
  return leftBoxes(layout, chip, time).map(
    ({ left, top, width }) =>
      html`<div
        class="hsd-sc-left"
        data-family=${palette.family(chip.source)}
        .style=${`left: ${left}px; top: ${top}px; width: ${width}px`}
      >
        <span class="hsd-sc-mark">${VERDICT_MARKS.accepted}</span><code>${token(chip.text)}</code>
      </div>`,
  );
}

/** Return the label of a chip for screen readers. */
function chipLabel({ store, reading }: Sources, { judged, own, text }: Chip): string {
  const last = judged.at(-1);
  if (last) return reading.nodeText(last.draft);
  const kind = own ? `${store.actor(own)}’s own token, ${own.outcome}` : "draft token";
  return `${token(text)}: ${kind}`;
}

function chipTemplate(sources: Sources, shown: StageState, chip: Chip) {
  const { scene, layout, time, key, isPinned, chosen, path } = shown;
  const move = moveAt(chip, time);
  // A chip has its verdict only after its last move.
  const fate = move && move === chip.moves.at(-1) ? move.fate : "";
  const isInText = (move?.floor ?? chip.born) >= scene.round.level;
  const { left, top, width } = chipBox(layout, chip, time);
  const isSelected = chip.key === key;
  const marks = {
    "hsd-sc-chip": true,
    "hsd-unborn": !move,
    "hsd-on": chip === chosen,
    "hsd-path": path.has(chip),
    "hsd-pinned": isSelected && isPinned,
  };
  return html`<div
    class=${classMap(marks)}
    id="${sources.uid}-${chip.key}"
    data-key=${chip.key}
    data-family=${sources.palette.family(chip.source)}
    data-verdict=${fate}
    role="option"
    aria-selected=${isSelected}
    aria-label=${chipLabel(sources, chip)}
    .style=${`width: ${width}px; transform: translate(${left}px, ${top}px)`}
  >
    <span class="hsd-sc-mark" aria-hidden="true"
      >${isInText ? "" : VERDICT_MARKS[fate] || ""}</span
    ><code>${token(chip.text)}</code>
  </div>`;
}

/** Return the label of the lowest floor: the drafters, or the passes of plain decoding. */
function groundText({ store, reading }: Sources, { scene, isNarrow }: StageState): string {
  if (scene.round.level > 0) return draftText(store, scene, reading.sourceName());
  return passText(reading, scene.beams, store.levelName(0), isNarrow);
}

/** Set the size of the stage, its label for screen readers, and its selected chip. */
function describe(stage: HTMLElement, { uid, store }: Sources, { scene, layout, key }: StageState) {
  const { width, height } = layout;
  stage.style.cssText = `width: ${width}px; height: ${height}px`;
  stage.style.setProperty("--wide", String(width)); // print does not scroll
  const number = store.order.get(scene.round.id);
  const tokens = `Round ${number}: ${plural(scene.chips.length, "token")}`;
  const isThere = scene.chips.some((chip) => chip.key === key);
  setAttributes(stage, {
    "aria-label": `${tokens}. Arrow keys move between tokens, Enter pins.`,
    "aria-activedescendant": isThere ? `${uid}-${key}` : "",
  });
}

/** Draw a scene into its stage. */
export function drawStage(stage: HTMLElement, sources: Sources, shown: StageState) {
  const { scene, layout } = shown;
  const { start, lefts, tops, gap } = layout;
  const text = scene.round.level;
  const room = Math.max(0, lefts[0] - gap);
  const floors = tops.slice(1).map((_, k) => passesTemplate(sources, shown, k + 1));
  const leftPlaces = scene.chips.map((chip) => leftTemplates(sources, shown, chip));
  render(
    html`<div aria-hidden="true">
        ${floors}${floorTemplate(shown, 0, groundText(sources, shown))}${leftPlaces}
        <code
          class="hsd-sc-start"
          ?hidden=${!start}
          .style=${`top: ${tops[text]}px; width: ${room}px`}
          >${start}</code
        >
      </div>
      ${repeat(
        scene.chips,
        (chip) => chip.key,
        (chip) => chipTemplate(sources, shown, chip),
      )}`,
    stage,
  );
  describe(stage, sources, shown);
}
