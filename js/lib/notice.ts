// The card that shows an error: of the page, of Python or of a view.
import { render } from "lit-html";
import { coded } from "./coded";
import { make, setAttributes, suppressShortcuts } from "./dom";

export interface Trouble {
  title?: string;
  message: string;
  details?: string;
  /** Whether this is a limitation rather than an error. */
  caution?: boolean;
}

/** Draw a card into `root`, or hide `root` if there is no message. `dismiss` adds a button. */
export function drawNotice(
  root: HTMLElement,
  { title, message, details, caution = false }: Trouble,
  dismiss?: () => void,
) {
  root.classList.add("hsd-notice");
  root.classList.toggle("hsd-caution", caution);
  root.hidden = !message;
  root.replaceChildren();
  if (!message) return;
  setAttributes(root, { role: "alert" });
  if (title) root.append(make("strong", "", title));
  const paragraph = make("p");
  render(coded(message), paragraph);
  root.append(paragraph);
  if (details) {
    const more = make("details");
    // Focusable, so that the keyboard can scroll it.
    const text = make("pre", "", details, { tabindex: 0 });
    more.append(make("summary", "", "Details"), text);
    root.append(more);
  }
  if (!dismiss) return;
  const close = make("button", "", "Dismiss");
  close.addEventListener("click", dismiss);
  root.append(close);
}

/** Return the content of an error's card; `details` is the traceback of an unexpected error. */
export const troubleOf = (error: unknown, title = ""): Trouble => ({
  title,
  message: error instanceof Error ? error.message : String(error),
  details: (error as { details?: string } | null)?.details ?? "",
});

/** Return the card that replaces a failed view or part of a view. */
export function failure(error: unknown, title = "This view failed") {
  const root = make("div");
  drawNotice(root, {
    ...troubleOf(error, title),
    details: (error instanceof Error && error.stack) || "",
  });
  return root;
}

/** Return a listener's `failed` that replaces the content of `root` with a card. */
export const failInto = (root: HTMLElement) => (error: unknown) => {
  reportError(error);
  root.replaceChildren(failure(error));
};

/** Return a widget's `render` that shows a card in its element if `render` throws. */
export const guarded =
  <D extends { el: HTMLElement }>(render: (drawing: D) => () => void) =>
  (drawing: D) => {
    suppressShortcuts(drawing.el);
    try {
      return render(drawing);
    } catch (error) {
      failInto(drawing.el)(error);
      return () => drawing.el.replaceChildren();
    }
  };
