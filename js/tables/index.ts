// A bench report: summary and tables (the first one open).

import { html, nothing } from "lit-html";
import { templated } from "../lib/template";

/** A cell: text, and small text below. */
type Cell = [string, string?];
interface Table {
  title: string;
  note?: string;
  said?: string;
  head: string[];
  rows: Cell[][];
  kinds: (string | null)[];
  marks: (string | null)[];
  folds?: boolean;
}
interface Spec {
  answer?: [string, boolean][];
  warnings?: string[];
  intro?: string[];
  tables?: Table[];
  colours?: Record<string, string[]>;
}
interface Traits {
  spec: Spec;
}

const FIRST = 3,
  SECOND = 6; // columns shown on a phone and in half a window, by importance
const numeric = (cell: string) => /^[-–]?[\d.,]*\d/.test(cell) || cell === "-" || cell === "–";

const small = (words?: string | null) => (words ? html`<small>${words}</small>` : nothing);

const stackCell = (name: string, kind: string | null, mark: string | null) =>
  html`<th scope="row"><div class="hsd-report-stack">
    ${kind && html`<span class="hsd-report-key" aria-hidden="true" .style=${`--key: var(--kind-${kind})`}></span>`}
    <div><code>${name}</code>${small(mark)}</div>
  </div></th>`;

function table({ title, head, rows, kinds, marks, folds }: Table) {
  // Numeric columns are right-aligned.
  const right = head.map((_, k) => k > 0 && rows.every((row) => numeric(row[k][0])));
  const classes = head.map(
    (_, k) =>
      `${right[k] ? "hsd-num" : ""} ${folds && k >= FIRST ? (k < SECOND ? "hsd-second" : "hsd-second hsd-third") : ""}`,
  );
  const row = ([[name], ...cells]: Cell[], i: number) =>
    html`<tr class=${kinds[i] === "plain" ? "hsd-plain" : ""}>
      ${stackCell(name, kinds[i], marks[i])}
      ${cells.map(
        ([figure, below], k) =>
          html`<td class=${classes[k + 1]}><span class="hsd-report-value">${figure}</span>${small(below)}</td>`,
      )}
    </tr>`;
  return html`<div class="hsd-report-table ${folds ? "hsd-folded" : ""}" tabindex="0" role="region" aria-label=${title}>
    <table>
      <thead><tr>${head.map((name, k) => html`<th class=${classes[k]} scope="col">${name}</th>`)}</tr></thead>
      <tbody>${rows.map(row)}</tbody>
    </table>
  </div>`;
}

/** Show or hide the columns hidden on a narrow page. */
function unfold({ target }: { target: HTMLInputElement }) {
  const part = target.closest(".hsd-report-part");
  part?.querySelector(".hsd-report-table")?.classList.toggle("hsd-folded", !target.checked);
}

function part(spec: Table, k: number) {
  const body = html`
    ${[spec.note, spec.said].map((words) => words && html`<p class="hsd-report-note">${words}</p>`)}
    ${spec.rows.length ? table(spec) : nothing}
    ${
      spec.rows.length && spec.folds
        ? html`<label class="hsd-report-more"><input type="checkbox" @change=${unfold}>All columns</label>`
        : nothing
    }`;
  return k
    ? html`<details class="hsd-report-part"><summary>${spec.title}</summary>${body}</details>`
    : html`<div class="hsd-report-part"><h3>${spec.title}</h3>${body}</div>`;
}

export default templated<Traits>(
  { tag: "section", class: "hsd-report", events: "change:spec", behind: "--paper" },
  ({ model, root }) =>
    () => {
      const { answer = [], warnings = [], intro = [], tables = [], colours = {} } = model.get("spec");
      const dark = root.classList.contains("hsd-dark");
      for (const [kind, pair] of Object.entries(colours)) root.style.setProperty(`--kind-${kind}`, pair[dark ? 1 : 0]);
      const said = answer.map(([text, strong]) =>
        strong ? html`<strong>${text}</strong>` : html`<span>${text}</span>`,
      );
      return html`${said.length ? html`<p class="hsd-report-answer">${said}</p>` : nothing}
        ${warnings.map((line) => html`<p class="hsd-report-warning">${line}</p>`)}
        ${intro.map((line) => html`<p class="hsd-report-intro">${line}</p>`)}
        ${tables.map(part)}`;
    },
);
