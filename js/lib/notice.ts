// The card for an error: title, message, details behind a toggle, and a button to dismiss it if `dismiss` is given.
import { make } from "./dom";

export interface Trouble {
  title: string;
  message: string;
  details?: string;
}

/** Draw a card into `root`, or hide `root` if there is no message. */
export function drawNotice(root: HTMLElement, { title, message, details }: Trouble, dismiss?: () => void) {
  root.classList.add("hsd-notice");
  root.hidden = !message;
  root.replaceChildren();
  if (!message) return;
  root.setAttribute("role", "alert");
  root.append(make("strong", "", title), make("p", "", message));
  if (details) {
    const more = make("details");
    const pre = make("pre", "", details);
    pre.tabIndex = 0; // focusable, because it scrolls
    more.append(make("summary", "", "Details"), pre);
    root.append(more);
  }
  if (!dismiss) return;
  const close = make("button", "", "Dismiss");
  close.addEventListener("click", dismiss);
  root.append(close);
}

/** The card of a view that failed. Other views are not affected. */
export function failure(error: unknown) {
  const root = make("div");
  const known = error instanceof Error;
  drawNotice(root, {
    title: "This view failed",
    message: known ? error.message : String(error),
    details: known ? error.stack : "",
  });
  return root;
}
