// The diagnosis of the run on the page: the share of each cause of lost time, and on demand the
// verdict and the advice.
import { html } from "lit-html";
import { tableOf } from "../lib/table";
import { templated } from "../lib/widget";

interface Table {
  title: string;
  note?: string;
  head: string[];
  rows: unknown[][];
}
/** The content of the view; without causes, there is nothing to explain. */
interface Spec {
  title?: string;
  causes?: { name: string; share: number }[];
  lines?: string[];
  tables?: Table[];
  settings?: [engine: string, text: string][];
}
export default templated<{ spec: Spec }>(
  { tag: "details", class: "hsd-doctor" },
  (get, _, root) => {
    const { title, causes = [], lines = [], tables = [], settings = [] } = get("spec");
    root.hidden = !causes.length && !lines.length;
    const rows = settings.map(([engine, text]) => [engine, html`<code>${text}</code>`]);
    const pasted: Table = { title: "Settings to paste", head: ["engine", "settings"], rows };
    const shares = causes.map(({ name, share }) => `${name} ${Math.round(100 * share)} %`);
    const shownTables = rows.length ? [...tables, pasted] : tables;
    return html`<summary>
        <span class="hsd-doc-title">${title}</span>
        <span>${shares.length ? `of what is lost: ${shares.join(", ")}` : ""}</span>
      </summary>
      <div class="hsd-doc-body">
        ${lines.map((text) => html`<p>${text}</p>`)}
        <div class="hsd-doc-tables">
          ${shownTables.map(
            ({ title, note, head, rows }) =>
              html`<section>
                <h3>${title}</h3>
                <small>${note ?? ""}</small>${tableOf(title, head, rows)}
              </section>`,
          )}
        </div>
      </div>`;
  },
);
