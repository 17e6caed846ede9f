// Tables of values: the text alternative of a chart, and charts that are tables.
import { html, nothing } from "lit-html";

/**
 * A table in a region that scrolls. The first cell of a row is its head; cells are texts or
 * templates.
 */
export const tableOf = (
  title: string,
  heads: readonly unknown[],
  rows: readonly (readonly unknown[])[],
  sums: unknown[] = [],
) => {
  const row = ([head, ...cells]: readonly unknown[]) =>
    html`<tr>
      <th scope="row">${head}</th>
      ${cells.map((cell) => html`<td>${cell}</td>`)}
    </tr>`;
  return html`<div class="hsd-table" tabindex="0" role="region" aria-label=${title}>
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(row)}
      </tbody>
      ${
        sums.length
          ? html`<tfoot>
              ${row(sums)}
            </tfoot>`
          : nothing
      }
    </table>
  </div>`;
};
/** A table that can be opened. */
export const folded = (words: string, table: unknown) =>
  html`<details class="hsd-values">
    <summary>${words}</summary>
    ${table}
  </details>`;
