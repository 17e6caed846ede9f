// Templates shared by the views of the visitor's traffic: their headline, settings to paste, and
// all figures as tables.
import { html, nothing } from "lit-html";
import { copyButton } from "../lib/copy";
import { folded, tableOf } from "../lib/table";
import type { Pasted, Said } from "./spec";

/** Keep figures of a text together with their sign ×. */
const joined = (words: string) => words.replaceAll(" ×", "\u00a0×");

/** The verdict with its figure first, and further remarks. */
export const headTemplate = ({ figure, words, lines }: Said) =>
  html`<p class="hsd-tr-verdict"><strong>${joined(figure)}</strong> ${joined(words)}</p>
    ${lines.map((line) => html`<p class="hsd-note">${line}</p>`)}`;

const lineTemplate = ({ engine, text }: Pasted) =>
  html`<div class="hsd-tr-setting">
    <span>${engine}</span><code tabindex="0">${text}</code>${copyButton(text, engine)}
  </div>`;

/** Settings to paste: those of the record's engine, and the others folded. */
export function settingsTemplate(pasted: readonly Pasted[]) {
  if (!pasted.length) return nothing;
  const ownSettings = pasted.filter((setting) => setting.own);
  const open = ownSettings.length ? ownSettings : pasted.slice(0, 1);
  const otherSettings = pasted.filter((setting) => !open.includes(setting));
  const names = otherSettings.map(({ engine }) => engine.split(" ")[0]).join(", ");
  return html`<section class="hsd-tr-settings">
    <h4>Settings to paste</h4>
    ${open.map(lineTemplate)}
    ${otherSettings.length ? folded(`For ${names}`, otherSettings.map(lineTemplate)) : nothing}
  </section>`;
}

/** All figures as tables, folded, and the sources. */
export function figuresTemplate({ verdict, tables, sources }: Said) {
  const content = html`<p class="hsd-note">${verdict}</p>
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
  return html`${folded("All figures", content)}
    <div class="hsd-tr-sources">${lines}</div>`;
}
