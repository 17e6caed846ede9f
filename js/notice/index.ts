// An error card: message, details behind a toggle, a dismiss button.
import type { Drawing } from "../lib/widget";

interface Traits {
  title: string;
  message: string;
  details: string;
}

function render({ model, el }: Drawing<Traits>) {
  const root = document.createElement("div");
  root.className = "hsd-notice";
  el.append(root);
  function draw() {
    const message = model.get("message");
    root.hidden = !message;
    root.replaceChildren();
    if (!message) return;
    root.setAttribute("role", "alert");
    const title = document.createElement("strong");
    title.textContent = model.get("title");
    const text = document.createElement("p");
    text.textContent = message;
    const close = document.createElement("button");
    close.textContent = "Dismiss";
    close.addEventListener("click", () => {
      model.set("message", "");
      model.save_changes();
    });
    root.append(title, text);
    if (model.get("details")) {
      const more = document.createElement("details");
      const summary = document.createElement("summary");
      summary.textContent = "Details";
      const pre = document.createElement("pre");
      pre.textContent = model.get("details");
      pre.tabIndex = 0; // focusable, because it scrolls
      more.append(summary, pre);
      root.append(more);
    }
    root.append(close);
  }
  model.on("change:message change:details change:title", draw);
  draw();
  return () => {
    model.off("change:message change:details change:title", draw);
    root.remove();
  };
}

export default { render };
