// The card for errors on the page, for those of Python and for those of a view.
import { render } from "lit-html";
import { coded } from "./coded";
import { make, setAttributes, suppressShortcuts } from "./dom";

export interface Trouble {
  title?: string;
  message: string;
  details?: string;
  /** Something that cannot be shown, rather than an error. */
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
  const said = make("p");
  render(coded(message), said);
  root.append(said);
  if (details) {
    const more = make("details");
    // Focusable, because it scrolls.
    const text = make("pre", "", details, { tabindex: 0 });
    more.append(make("summary", "", "Details"), text);
    root.append(more);
  }
  if (!dismiss) return;
  const close = make("button", "", "Dismiss");
  close.addEventListener("click", dismiss);
  root.append(close);
}

/** An error as a card; `details`: of one that the kernel did not expect, its traceback. */
export const troubleOf = (error: unknown, title = ""): Trouble => ({
  title,
  message: error instanceof Error ? error.message : String(error),
  details: (error as { details?: string } | null)?.details ?? "",
});

/** The card of a view or a part of one that failed; other views are not affected. */
export function failure(error: unknown, title = "This view failed") {
  const root = make("div");
  drawNotice(root, {
    ...troubleOf(error, title),
    details: (error instanceof Error && error.stack) || "",
  });
  return root;
}

/** A listener's `failed` that puts the card in the place of a part's content. */
export const failInto = (root: HTMLElement) => (error: unknown) => {
  reportError(error);
  root.replaceChildren(failure(error));
};

/** A widget's `render` that shows a card in its element if it throws. */
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
