// The sheet of keys: a dialog that ? opens.
import { make } from "../lib/dom";

const KEYS: [string, [string, string][]][] = [
  [
    "Run shown",
    [
      ["← →", "previous, next event"],
      ["Shift ← →", "previous, next round"],
      [", .", "previous, next token"],
      ["Home End", "first, last event"],
      ["Enter", "pin the token under the cursor"],
      ["Esc", "unpin, show the whole text"],
      ["Space", "play and pause"],
    ],
  ],
  [
    "Compare",
    [
      ["← →", "output position"],
      ["↑ ↓", "run"],
      ["Space", "race"],
    ],
  ],
  [
    "Page",
    [
      ["Ctrl Enter", "run the form"],
      ["?", "this list"],
    ],
  ],
];

/** Whether a key is not the page's: of a field, or of the notebook around the page. */
export function typed(e: KeyboardEvent, app: Element | null) {
  const target = e.target as Element;
  if (e.ctrlKey || e.metaKey || e.altKey || !app) return true;
  const alone = target === document.body && app.closest("#rendered_cells") !== null;
  if (!alone && !app.contains(target)) return true;
  return Boolean(
    target.closest("input:not([type=checkbox], [type=range]), textarea, select, [contenteditable], dialog"),
  );
}

/** The dialog, closed. */
export function keySheet() {
  const dialog = make("dialog", "hsd-keys-sheet");
  dialog.setAttribute("aria-label", "Keys");
  const head = make("div", "hsd-keys-head");
  const close = make("button", "", "Close");
  close.addEventListener("click", () => dialog.close());
  head.append(make("h2", "", "Keys"), close);
  const parts = KEYS.map(([title, keys]) => {
    const part = make("section");
    const list = make("dl");
    for (const [key, words] of keys) {
      const term = make("dt");
      for (const one of key.split(" ")) term.append(make("kbd", "", one), " ");
      list.append(term, make("dd", "", words));
    }
    part.append(make("h3", "", title), list);
    return part;
  });
  dialog.append(head, ...parts);
  // A click beside it closes it.
  dialog.addEventListener("click", (e) => {
    if (e.target === dialog) dialog.close();
  });
  return dialog;
}
