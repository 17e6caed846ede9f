// Why the run on the page is not faster: the share of each cause in one bar; the verdict and what to do on demand.
import { html, nothing } from "lit-html";
import { templated } from "../lib/template";

interface Cause {
  name: string;
  share: number;
}
interface Table {
  title: string;
  note?: string;
  head: string[];
  rows: string[][];
}
/** Empty: nothing to explain. */
interface Spec {
  title?: string;
  causes?: Cause[];
  lines?: string[];
  tables?: Table[];
  settings?: [string, string][];
}
interface Traits {
  spec: Spec;
}

export const percent = (share: number) => `${Math.round(100 * share)} %`;
/** Shades of the ink: colours are those of sources. */
const shade = (k: number, n: number) => `--shade:${Math.round(85 - (65 * k) / Math.max(1, n - 1))}%`;

const tableOf = ({ title, note, head, rows }: Table) =>
  html`<div class="hsd-doc-table"><table>
    <caption>${title}${note ? html`<small>${note}</small>` : nothing}</caption>
    <thead><tr>${head.map((text) => html`<th scope="col">${text}</th>`)}</tr></thead>
    <tbody>${rows.map(
      ([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((text) => html`<td>${text}</td>`)}</tr>`,
    )}</tbody>
  </table></div>`;

const settingsOf = (settings: [string, string][]) =>
  html`<h3>Settings to paste</h3>
    <dl class="hsd-doc-settings">
      ${settings.map(([engine, text]) => html`<dt>${engine}</dt><dd><code>${text}</code></dd>`)}
    </dl>`;

export default templated<Traits>(
  { tag: "details", class: "hsd-doctor", events: "change:spec" },
  ({ model, root }) =>
    () => {
      const { title, causes = [], lines = [], tables = [], settings = [] } = model.get("spec");
      root.hidden = !causes.length;
      return html`<summary>
          <span class="hsd-doc-title">${title}</span>
          <span class="hsd-doc-bar" aria-hidden="true">
            ${causes.map((c, k) => html`<span class="hsd-doc-part" .style="${shade(k, causes.length)};flex-grow:${c.share}"></span>`)}
          </span>
          <ul class="hsd-doc-legend">
            ${causes.map(
              (c, k) =>
                html`<li><span class="hsd-doc-key" .style=${shade(k, causes.length)}></span><span>${c.name} ${percent(c.share)}</span></li>`,
            )}
          </ul>
        </summary>
        <div class="hsd-doc-body">
          ${lines.map((text) => html`<p>${text}</p>`)}
          <div class="hsd-doc-tables">${tables.map(tableOf)}</div>
          ${settings.length ? settingsOf(settings) : nothing}
        </div>`;
    },
);
