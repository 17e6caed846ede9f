// The drawing of a scene at one time: floors with their words and beams, chips, and the places that
// chips have left. Model output is only set as text.
import { html, nothing, render } from "lit-html";
import { classMap } from "lit-html/directives/class-map.js";
import { repeat } from "lit-html/directives/repeat.js";
import { setAttributes } from "../lib/dom";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { plural, VERDICT_MARKS } from "../lib/words";
import { draftWords, passWords } from "./labels";
import { beamBox, chipBox, floorBox, type Layout, leftBoxes } from "./layout";
import { type Beam, type Chip, moveAt, type Scene } from "./scene";
import { type Reading, token } from "./words";

/** What a stage draws from, for all scenes of a view. */
export interface Sources {
  /** The view's identifier, with which those of its chips begin. */
  uid: string;
  store: Store;
  palette: Palette;
  reading: Reading;
}
/** What a stage shows. */
export interface Shown {
  scene: Scene;
  layout: Layout;
  /** The time of the scene. */
  time: number;
  /** Whether the scene is played: its beams are lit. */
  isPlayed: boolean;
  /** Whether the view is narrow: labels are brief. */
  isNarrow: boolean;
  /** The key of the selected chip, and whether it is pinned. */
  key: string | null;
  isPinned: boolean;
  /** The chip under the pointer, else the selected one. */
  chosen: Chip | null;
  /** Chips on the way to the one that is described. */
  path: ReadonlySet<Chip>;
}

/** A light stays on this share of the scene after its pass. */
const AFTERGLOW = 0.03;

/** The line of a forward pass; while it takes its time, a light moves over the chips. */
function beamTemplate(shown: Shown, beam: Beam, label: string) {
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

/** A floor with its words above its chips. */
function floorTemplate({ layout }: Shown, floor: number, label: string) {
  const { top, width, height } = floorBox(layout, floor);
  return html`<div
    class=${top > 0 ? "hsd-sc-floor hsd-sc-below" : "hsd-sc-floor"}
    .style=${`top: ${top}px; width: ${width}px; height: ${height}px`}
  >
    <span class="hsd-sc-label">${label}</span>
  </div>`;
}

/** The floor above level `floor` - 1: the passes that lead to it. */
function passesTemplate({ store, reading }: Sources, shown: Shown, floor: number) {
  const { scene, isNarrow } = shown;
  const name = store.levelName(floor);
  const beams = scene.beams.filter((beam) => beam.floor === floor);
  const labelOf = (some: Beam[]) => passWords(reading, some, name, isNarrow);
  return html`${floorTemplate(shown, floor, labelOf(beams))}
    ${beams.map((beam) => beamTemplate(shown, beam, labelOf([beam])))}`;
}

/** The places that a chip has left. */
function leftTemplates({ palette }: Sources, { layout, time }: Shown, chip: Chip) {
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

/** What a screen reader says of a chip. */
function chipLabel({ store, reading }: Sources, { judged, own, text }: Chip): string {
  const last = judged.at(-1);
  if (last) return reading.nodeWords(last.draft);
  const kind = own ? `${store.actor(own)}’s own token, ${own.outcome}` : "draft token";
  return `${token(text)}: ${kind}`;
}

function chipTemplate(sources: Sources, shown: Shown, chip: Chip) {
  const { scene, layout, time, key, isPinned, chosen, path } = shown;
  const move = moveAt(chip, time);
  // On its way a chip has no verdict yet.
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

/** What is said of the lowest floor: of the drafters, or the passes of plain decoding. */
function groundWords({ store, reading }: Sources, { scene, isNarrow }: Shown): string {
  if (scene.round.level > 0) return draftWords(store, scene, reading.sourceName());
  return passWords(reading, scene.beams, store.levelName(0), isNarrow);
}

/** The size of the stage, its words for screen readers, and its selected chip. */
function describe(stage: HTMLElement, { uid, store }: Sources, { scene, layout, key }: Shown) {
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
export function drawStage(stage: HTMLElement, sources: Sources, shown: Shown) {
  const { scene, layout } = shown;
  const { start, lefts, tops, gap } = layout;
  const text = scene.round.level;
  const room = Math.max(0, lefts[0] - gap);
  const floors = tops.slice(1).map((_, k) => passesTemplate(sources, shown, k + 1));
  const left = scene.chips.map((chip) => leftTemplates(sources, shown, chip));
  render(
    html`<div aria-hidden="true">
        ${floors}${floorTemplate(shown, 0, groundWords(sources, shown))}${left}
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
