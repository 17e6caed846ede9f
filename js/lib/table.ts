// HTML tables of values, also as the text alternative of charts.
import { html, nothing } from "lit-html";

/**
 * Return a table in a scrollable region. Cells are texts or templates; the first cell of a row is
 * its header.
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
          ${heads.map((head) => (head ? html`<th scope="col">${head}</th>` : html`<td></td>`))}
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
/** Return a table that is folded below a title. */
export const folded = (words: string, table: unknown) =>
  html`<details class="hsd-values">
    <summary>${words}</summary>
    ${table}
  </details>`;
