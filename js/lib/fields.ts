// Templates of form fields.
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";

type Options = readonly (readonly string[])[];
interface Menu {
  class?: string;
  /** Label for screen readers where no text labels the menu. */
  label?: string;
  title?: string;
  hidden?: boolean;
  disabled?: boolean;
}

/** A menu of [value, label] pairs; `take` gets the selected value. */
export const menu = (
  options: Options,
  value: string,
  take: (value: string) => void,
  more: Menu = {},
) =>
  html`<select
    class=${more.class ?? nothing}
    aria-label=${more.label ?? nothing}
    title=${more.title ?? nothing}
    ?hidden=${more.hidden}
    ?disabled=${more.disabled}
    @change=${(e: { target: HTMLSelectElement }) => take(e.target.value)}
  >
    ${options.map(
      ([v, words]) => html`<option value=${v}
  .selected=${live(v === value)}>${words}</option>`,
    )}
  </select>`;

/** A control with its label. */
export const field = (label: string, control: unknown) =>
  html`<label class="hsd-field">${label}${control}</label>`;

/** A text field of several lines. */
export const area = (label: string, rows: number, value: string, take: (value: string) => void) =>
  field(
    label,
    html`<textarea
      class="hsd-mono"
      rows=${rows}
      spellcheck="false"
      .value=${live(value)}
      @input=${(e: { target: HTMLTextAreaElement }) => take(e.target.value)}
    ></textarea>`,
  );

export const slider = (
  from: number,
  to: number,
  step: number,
  value: number,
  take: (value: number) => void,
) =>
  html`<input
    type="range"
    min=${from}
    max=${to}
    step=${step}
    .value=${live(String(value))}
    @input=${(e: { target: HTMLInputElement }) => take(Number(e.target.value))}
  />`;

export const check = (cls: string, words: string, on: boolean, take: (on: boolean) => void) =>
  html`<label class=${cls}
    ><input
      type="checkbox"
      .checked=${live(on)}
      @change=${(e: { target: HTMLInputElement }) => take(e.target.checked)}
    /><span>${words}</span></label
  >`;
