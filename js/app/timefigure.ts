// The first figure of the Time tab: where the time of the run goes, as one bar, and below it what
// would change its speed by the latency law.
import { html, nothing, render } from "lit-html";
import { make } from "../lib/dom";
import { paletteOf } from "../lib/palette";
import { drafterOf } from "../lib/stack";
import { duration, timeShare } from "../lib/words";
import { mount } from "../views";
import type { Context, Section } from "./section";
import { costsOf, type Spent, spendingOf } from "./spending";

/** Values of the law for a run without drafts. */
const USUAL = { acceptance: 0.7, cost: 0.15, lookahead: 4, slope: 0.02 };
const OF_RUN = "Acceptance and costs are of this run; diamond: as measured.";

/** The bar of the parts of a time, and its key. */
function barTemplate(parts: readonly Spent[], familyOf: (source: string) => string) {
  const total = parts.reduce((sum, { ns }) => sum + ns, 0);
  const swatch = ({ source, isRejected, ns }: Spent) =>
    html`<i
      class=${isRejected ? "hsd-spent hsd-rejected" : "hsd-spent"}
      data-family=${source ? familyOf(drafterOf(`${source} > target`)) : nothing}
      .style=${`--share: ${ns}`}
    ></i>`;
  return html`<div class="hsd-spent-bar" aria-hidden="true">${parts.map(swatch)}</div>
    <ul class="hsd-spent-key">
      ${parts.map(
        (part) =>
          html`<li>
            ${swatch(part)}<strong>${timeShare(part.ns / total)}</strong> ${part.name},
            ${duration(part.ns)}
          </li>`,
      )}
    </ul>
    <p class="hsd-note">A pass is divided equally among the tokens that it was fed.</p>`;
}

/** The figure of the run shown. */
export function timeFigure({ group, state, host }: Context): Section {
  const { store } = group;
  const palette = paletteOf(host.about.palette);
  const root = make("section", "hsd-part");
  const bar = make("div", "hsd-linked");
  palette.paint(bar);
  const law = mount("one_draft", { ...state, ...USUAL, presets: [], source: OF_RUN });
  root.append(bar, law.el);
  let shownRun = "";

  function refresh() {
    if (store.run === shownRun) return;
    shownRun = store.run;
    const parts = spendingOf(store);
    bar.hidden = !parts.length;
    render(barTemplate(parts, palette.family), bar);
    const costs = costsOf(store);
    const presets = costs ? [{ name: "this run", ...costs }] : [];
    for (const [name, value] of Object.entries({ ...USUAL, ...costs, presets }))
      law.model.set(name as never, value as never);
  }
  return { root, refresh, close: law.close };
}
