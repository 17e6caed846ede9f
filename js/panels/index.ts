// Counts of a run as tables with bars. `which` names the panels; those of a verifier have a menu of
// levels where there are several.
import { html, nothing, render } from "lit-html";
import DEFINITIONS from "../lib/definitions.json";
import { menu } from "../lib/fields";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import { tableOf } from "../lib/table";
import { term } from "../lib/tip";
import { unique } from "../lib/widget";
import { type Panel, panelsOf, type Row, topLevel, verifiers } from "./panels";
import { ribbons, stagesOf } from "./ribbons";

export interface Traits {
  which: string[];
}
const OF_LEVEL = ["byPosition", "perRound", "byMatch"];

function panelsView({ model, root, group, store, palette, redrawn, resized }: View<Traits>) {
  root.classList.add("hsd-panels");
  const uid = unique();
  const { databases } = model.get("palette");
  let level = -1;

  const bar = (row: Row, most: number) =>
    html`<span
      class="hsd-pn-bar"
      role="img"
      aria-label=${row.parts.map(([, , words]) => words).join("; ") || "none"}
      >${row.parts.map(
        ([key, length, words]) =>
          html`<span
            class="hsd-pn-part"
            data-family=${
              ["rejected", "unreached", "rounds"].includes(key) ? "none" : palette.family(key)
            }
            data-key=${key}
            title=${words}
            .style=${`width: ${(100 * length) / most}%`}
          ></span>`,
      )}</span
    >`;
  function table({ title, measure, more = "", heads, rows, empty, foot }: Panel, k: number) {
    const most = Math.max(1e-9, ...rows.map((row) => row.parts.reduce((sum, [, n]) => sum + n, 0)));
    const cells = rows.map((row) => [row.label, bar(row, most), ...row.cells]);
    return html`<section class="hsd-pn">
      <h3>${title}</h3>
      <p class="hsd-note">${term(measure, `${DEFINITIONS[measure]} ${more}`, `${uid}-${k}`)}</p>
      ${empty ? html`<p class="hsd-note">${empty}</p>` : tableOf(title, heads, cells)}
      ${foot && !empty ? html`<p class="hsd-pn-foot hsd-source">${foot}</p>` : nothing}
    </section>`;
  }
  /** Light what the text has of a source. */
  const light = (source: string | null) =>
    group.light(
      store.tokens.flatMap((t, i) => (t.source === source ? [store.promptIds.length + i] : [])),
    );
  function paint() {
    const all = panelsOf(store, palette, databases);
    const levels = verifiers(store);
    if (!levels.includes(level)) level = topLevel(store);
    const which = model.get("which");
    const options = levels.map((at) => [String(at), store.levelName(at)]);
    const take = (value: string) => {
      level = Number(value);
      paint();
    };
    const chosen = () =>
      html`<label class="hsd-pn-level">Verifier${menu(options, String(level), take)}</label>`;
    const drawn = which.map((name, k) => {
      if (name === "ribbons")
        return ribbons(
          stagesOf(store, databases),
          palette,
          Math.max(280, root.clientWidth || 640),
          light,
        );
      const panel = all[name as keyof typeof all](level);
      return name === "inText" && !panel.rows.length ? nothing : table(panel, k);
    });
    render(
      html`${
        levels.length > 1 && which.some((name) => OF_LEVEL.includes(name)) ? chosen() : nothing
      }
        <div class="hsd-pn-grid">
          ${store.tokens.length ? drawn : html`<p class="hsd-note">No run.</p>`}
        </div>`,
      root,
    );
  }
  redrawn(paint, 400);
  paint();
  if (model.get("which").includes("ribbons")) resized(root, paint);
}

export default linkedWidget(panelsView);
