// The dialog of keyboard shortcuts and definitions that ? opens.
import { html, render } from "lit-html";
import { make } from "../lib/dom";
import KEYS from "./keys.json";
import WORDS from "./words.json";

/** Return whether a key press belongs to a field or to the notebook around the page. */
export function typed(e: KeyboardEvent, app: Element | null) {
  const target = e.target as Element;
  if (e.ctrlKey || e.metaKey || e.altKey || !app) return true;
  const isOutside = target === document.body && app.closest("#rendered_cells") !== null;
  if (!isOutside && !app.contains(target)) return true;
  return Boolean(
    target.closest(
      "input:not([type=checkbox], [type=range]), textarea, select, [contenteditable], dialog",
    ),
  );
}

/** Return the dialog, closed. */
export function keySheet() {
  const dialog = make("dialog", "hsd-keys-sheet", "", { "aria-label": "Keys and words" });
  const list = (keys: object) =>
    Object.entries(keys).map(
      ([key, words]) =>
        html`<dt>${key.split(" ").map((part) => html`<kbd>${part}</kbd> `)}</dt>
          <dd>${words}</dd>`,
    );
  render(
    html`<form method="dialog" class="hsd-keys-head">
        <h2>Keys and words</h2>
        <button class="hsd-quiet">Close</button>
      </form>
      ${Object.entries(KEYS).map(
        ([title, keys]) =>
          html`<section>
            <h3>${title}</h3>
            <dl>${list(keys)}</dl>
          </section>`,
      )}
      <section>
        <h3>Words</h3>
        <dl>${Object.entries(WORDS).map(
          ([word, means]) =>
            html`<dt>${word}</dt>
              <dd>${means}</dd>`,
        )}</dl>
      </section>`,
    dialog,
  );
  // A click on the backdrop closes the dialog.
  dialog.addEventListener("click", (e) => e.target === dialog && dialog.close());
  return dialog;
}
