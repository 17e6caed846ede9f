// Controls of the block editor: button, menu, check box, drag handle. `data-key` identifies each for the focus.
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

/** The place where the dragged row would be dropped. */
let to = -1;

/** A handle that drags its row among the rows of its list that have one, ordered from top to bottom. */
export function grip(words: string, drop: (from: number, to: number) => void) {
  const dragged = ({ currentTarget }: PointerEvent) => {
    const handle = currentTarget as HTMLElement;
    const row = handle.closest("li") as HTMLElement;
    const all = [...(row.parentElement?.children ?? [])];
    const rows = all.filter((r) => r.querySelector(".hsd-blk-grip")?.closest("li") === r);
    return { handle, row, rows, from: rows.indexOf(row) };
  };
  const down = (e: PointerEvent) => {
    if (e.button !== 0) return;
    const { handle, row, from } = dragged(e);
    e.preventDefault();
    handle.setPointerCapture(e.pointerId);
    row.classList.add("hsd-blk-dragged");
    to = from;
  };
  const move = (e: PointerEvent) => {
    const { handle, rows, from } = dragged(e);
    if (!handle.hasPointerCapture(e.pointerId)) return;
    const middle = (r: Element) => {
      const b = r.getBoundingClientRect();
      return b.top + b.height / 2;
    };
    to = rows.filter((r, i) => i !== from && middle(r) < e.clientY).length;
    for (const [i, r] of rows.entries()) {
      r.classList.toggle("hsd-blk-before", i === to && to < from);
      r.classList.toggle("hsd-blk-after", i === to && to > from);
    }
  };
  const end = (done: boolean) => (e: PointerEvent) => {
    const { rows, from } = dragged(e);
    for (const r of rows) r.classList.remove("hsd-blk-before", "hsd-blk-after", "hsd-blk-dragged");
    if (done && to >= 0 && to !== from) drop(from, to);
    to = -1;
  };
  return html`<span
    class="hsd-blk-grip" title=${words} aria-hidden="true"
    @pointerdown=${down} @pointermove=${move} @pointerup=${end(true)} @pointercancel=${end(false)}
  >⠿</span>`;
}
