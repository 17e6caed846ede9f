// Controls of the block editor: button, menu, check box. `data-key` identifies each for the focus.
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";

/** `family`: the source whose colour a chip has. */
export function button(
  key: string,
  label: string,
  words: string,
  act: (event: MouseEvent) => void,
  { disabled = false, chip = false, family = null as string | null } = {},
) {
  const name = words === label ? nothing : words;
  return html`<button
    type="button" class=${chip ? "hsd-blk-chip" : "hsd-blk-tool"} data-key=${key} data-family=${family ?? nothing}
    title=${name} aria-label=${name} ?disabled=${disabled} @click=${act}
  >${label}</button>`;
}

export const menu = (key: string, label: string, options: string[], value: string, act: (value: string) => void) =>
  html`<select
    class="hsd-blk-name" data-key=${key} aria-label=${label}
    @change=${(e: { target: HTMLSelectElement }) => act(e.target.value)}
  >${options.map((name) => html`<option value=${name} .selected=${live(name === value)}>${name}</option>`)}</select>`;

export const check = (
  key: string,
  label: string,
  on: boolean,
  act: () => void,
  { disabled = false, family = null as string | null } = {},
) =>
  html`<label class="hsd-blk-check" data-family=${family ?? nothing}>
    <input type="checkbox" data-key=${key} .checked=${live(on)} ?disabled=${disabled} @change=${act}>
    <span>${label}</span>
  </label>`;
