// Counts of a run as tables with bars. The trait `which` names the panels; those about one verifier
// have a menu of levels if there are several.
import { html, nothing, render } from "lit-html";
import COMMON from "../lib/definitions.json";
import { menu } from "../lib/fields";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Palette } from "../lib/palette";
import { tableOf } from "../lib/table";
import { term } from "../lib/tip";
import { unique } from "../lib/widget";
import OWN from "./definitions.json";
import { type Panel, panelsOf, type Row, topLevel, verifiers } from "./panels";
import { ribbons, stagesOf } from "./ribbons";

export interface Traits {
  which: string[];
}
const DEFINITIONS = { ...COMMON, ...OWN };
const OF_LEVEL = ["byPosition", "perRound", "byMatch"];

/** The key of bars of draft tokens. */
const KEY = [
  ["accepted", "accepted, in the colour of the source"],
  ["rejected", "rejected"],
  ["unreached", "not examined"],
];
const keyOfBars = () =>
  html`<p class="hsd-pn-key" aria-hidden="true">
    ${KEY.map(
      ([key, words]) =>
        html`<span><i class="hsd-pn-part" data-family="none" data-key=${key}></i>${words}</span>`,
    )}
  </p>`;

/** Parts of a bar without a source. */
const UNSOURCED = ["rejected", "unreached", "rounds"];
/** Minimum width of the ribbons, and their width before the view has a layout, in pixels. */
const MIN_WIDTH = 280;
const USUAL = 640;

/** The parts of a row as a bar; a total of `most` fills the width. */
function bar({ parts }: Row, most: number, palette: Palette) {
  const part = ([key, length, words]: Row["parts"][number]) =>
    html`<span
      class="hsd-pn-part"
      data-family=${UNSOURCED.includes(key) ? "none" : palette.family(key)}
      data-key=${key}
      title=${words}
      .style=${`width: ${(100 * length) / most}%`}
    ></span>`;
  return html`<span
    class="hsd-pn-bar"
    role="img"
    aria-label=${parts.map(([, , words]) => words).join("; ") || "none"}
    >${parts.map(part)}</span
  >`;
}

/** A table with bars; `id` is the element id of the definition of its measure. */
function table(panel: Panel, id: string, palette: Palette) {
  const { title, measure, more = "", heads, rows, empty, foot } = panel;
  const sums = rows.map(({ parts }) => parts.reduce((sum, [, length]) => sum + length, 0));
  const longest = Math.max(1e-9, ...sums);
  const value = (words: string, few = false) =>
    few ? html`<span class="hsd-pn-few">${words}</span>` : words;
  const cells = rows.map((row) => [
    row.label,
    bar(row, longest, palette),
    ...row.cells.map((words) => value(words, row.few)),
  ]);
  const isOfDrafts = heads.includes("draft tokens") && !empty;
  return html`<section class="hsd-pn">
    <h3>${title}</h3>
    <p class="hsd-note">${term(measure, `${DEFINITIONS[measure]} ${more}`, id)}</p>
    ${isOfDrafts ? keyOfBars() : nothing}
    ${empty ? html`<p class="hsd-note">${empty}</p>` : tableOf(title, heads, cells)}
    ${foot && !empty ? html`<p class="hsd-pn-foot hsd-source">${foot}</p>` : nothing}
  </section>`;
}

function panelsView({ model, root, group, store, palette, redrawn, resized }: View<Traits>) {
  root.classList.add("hsd-panels");
  const uid = unique();
  const { databases } = model.get("palette");
  let level = -1;

  /** Highlight the tokens of a source in the text. */
  function light(source: string | null) {
    const places = [...store.tokens.keys()].filter((k) => store.tokens[k].source === source);
    group.light(places.map((place) => store.promptIds.length + place));
  }
  function panel(name: string, id: string) {
    if (name === "ribbons") {
      const room = Math.max(MIN_WIDTH, root.clientWidth || USUAL);
      return ribbons(stagesOf(store, databases), palette, room, light);
    }
    const panels = panelsOf(store, palette, databases);
    const content = panels[name as keyof typeof panels](level);
    return name === "inText" && !content.rows.length ? nothing : table(content, id, palette);
  }
  function levelMenu(levels: number[]) {
    const options = levels.map((at) => [String(at), store.levelName(at)]);
    const take = (value: string) => {
      level = Number(value);
      paint();
    };
    return html`<label class="hsd-pn-level">Verifier${menu(options, String(level), take)}</label>`;
  }
  function paint() {
    const levels = verifiers(store);
    if (!levels.includes(level)) level = topLevel(store);
    const which = model.get("which");
    const hasMenu = levels.length > 1 && which.some((name) => OF_LEVEL.includes(name));
    const panels = which.map((name, k) => panel(name, `${uid}-${k}`));
    render(
      html`${hasMenu ? levelMenu(levels) : nothing}
        <div class="hsd-pn-grid">
          ${store.tokens.length ? panels : html`<p class="hsd-note">No run.</p>`}
        </div>`,
      root,
    );
  }
  redrawn(paint, 400);
  paint();
  if (model.get("which").includes("ribbons")) resized(root, paint);
}

export default linkedWidget(panelsView);
