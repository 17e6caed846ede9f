// The run on the page: origin, metrics as tiles, and progress.
import { html, nothing } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";

import { templated } from "../lib/template";
import { term } from "../lib/tip";
import { unique } from "../lib/widget";

/** Where a run comes from. */
interface Origin {
  kind: "recording" | "replay" | "live" | "finished";
  badge: string;
  stack: string;
  facts: string[];
  note: string;
}
/** A metric of a run; `about` defines it. */
interface Tile {
  label: string;
  value: string;
  unit: string;
  note: string;
  about: string;
}
/** The current stage of a run and the part done, if known. */
interface Progress {
  text: string;
  done: number | null;
  total: number | null;
}
/** Empty before the first run. */
interface Traits {
  origin: Partial<Origin>;
  tiles: Tile[];
  verdict: string;
  stage: Partial<Progress>;
}
const EVENTS = "change:origin change:tiles change:verdict change:stage";

const originOf = ({ kind, badge = "", stack, note }: Partial<Origin>) =>
  html`<div class="hsd-origin-line">
      <span class="hsd-badge hsd-badge-${kind || "none"}">${badge}</span>
      ${stack ? html`<h2><code class="hsd-origin-stack">${stack}</code></h2>` : nothing}
    </div>
    ${note ? html`<p class="hsd-origin-note">${note}</p>` : nothing}`;

const tileOf = ({ label, about, value, unit, note }: Tile, id: string) =>
  html`<div class="hsd-tile">
    <div class="hsd-tile-label">${term(label, about, id)}</div>
    <div class="hsd-tile-value">${value}${unit ? html`<span class="hsd-tile-unit"> ${unit}</span>` : nothing}</div>
    <div class="hsd-tile-note">${note}</div>
  </div>`;

function statusOf({ text = "", done = null, total = null }: Partial<Progress>) {
  const known = total !== null && total > 0 && done !== null;
  const width = known ? `width: ${Math.min(100, (100 * done) / total)}%` : "";
  return html`<div class="hsd-status" role="status">
    <span class="hsd-stage">${text}</span>
    <div
      class="hsd-meter ${text && !known ? "hsd-meter-unknown" : ""}" role="progressbar" aria-label="Progress"
      aria-valuemax=${known ? total : nothing} aria-valuenow=${known ? done : nothing}
    ><div class="hsd-meter-fill" .style=${width}></div></div>
  </div>`;
}

export default templated<Traits>({ tag: "section", class: "hsd-readout", events: EVENTS }, ({ model, root }) => {
  root.setAttribute("aria-label", "Run");
  const uid = unique();
  return () => {
    const [tiles, verdict, stage] = [model.get("tiles"), model.get("verdict"), model.get("stage")];
    root.classList.toggle("hsd-busy", Boolean(stage.text));
    // During a run values change, but an open definition stays.
    const all = keyed(
      tiles.map((t) => t.label).join(),
      tiles.map((t, i) => tileOf(t, `${uid}-${i}`)),
    );
    return html`<div class="hsd-origin">${originOf(model.get("origin"))}</div>
      ${statusOf(stage)}
      <div class="hsd-tiles">${all}</div>
      <p class="hsd-verdict" ?hidden=${!verdict}>${verdict}</p>`;
  };
});
