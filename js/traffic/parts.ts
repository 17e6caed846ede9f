// What the views of the visitor's traffic have in common: their headline, settings to paste, and
// all figures as tables.
import { html, nothing } from "lit-html";
import { copyButton } from "../lib/copy";
import { folded, tableOf } from "../lib/table";
import type { Pasted, Said } from "./spec";

/** Words whose figures stay in one line. */
const joined = (words: string) => words.replaceAll(" ×", "\u00a0×");

/** The verdict, its figure first, and what else must be known. */
export const headTemplate = ({ figure, words, lines }: Said) =>
  html`<p class="hsd-tr-verdict"><strong>${joined(figure)}</strong> ${joined(words)}</p>
    ${lines.map((line) => html`<p class="hsd-note">${line}</p>`)}`;

const lineTemplate = ({ engine, text }: Pasted) =>
  html`<div class="hsd-tr-setting">
    <span>${engine}</span><code tabindex="0">${text}</code>${copyButton(text, engine)}
  </div>`;

/** Settings to paste: those of the record's engine, the others closed. */
export function settingsTemplate(pasted: readonly Pasted[]) {
  if (!pasted.length) return nothing;
  const own = pasted.filter((one) => one.own);
  const open = own.length ? own : pasted.slice(0, 1);
  const others = pasted.filter((one) => !open.includes(one));
  const names = others.map(({ engine }) => engine.split(" ")[0]).join(", ");
  return html`<section class="hsd-tr-settings">
    <h4>Settings to paste</h4>
    ${open.map(lineTemplate)}
    ${others.length ? folded(`For ${names}`, others.map(lineTemplate)) : nothing}
  </section>`;
}

/** All figures as tables, closed, and what was read. */
export function figuresTemplate({ verdict, tables, sources }: Said) {
  const all = html`<p class="hsd-note">${verdict}</p>
    <div class="hsd-tr-tables">
      ${tables.map(
        ({ title, note, head, rows }) =>
          html`<section>
            <h4>${title}</h4>
            ${note ? html`<p class="hsd-source">${note}</p>` : nothing}${tableOf(title, head, rows)}
          </section>`,
      )}
    </div>`;
  const lines = sources.map((line) => html`<p class="hsd-source">${line}</p>`);
  return html`${folded("All figures", all)}
    <div class="hsd-tr-sources">${lines}</div>`;
}
