// An error of Python as a card with a button to dismiss it.
import { make } from "../lib/dom";
import { drawNotice, guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Traits {
  title: string;
  message: string;
  details: string;
}

function render({ model, el }: Drawing<Traits>) {
  const root = make("div");
  el.append(root);
  const dismiss = () => {
    model.set("message", "");
    model.save_changes();
  };
  function draw() {
    const [title, message, details] = [model.get("title"), model.get("message"), model.get("details")];
    drawNotice(root, { title, message, details }, dismiss);
  }
  function tell() {
    draw();
    // An error answers an action that may be far down the page.
    if (model.get("message")) root.scrollIntoView({ block: "nearest" });
  }
  model.on("change:message change:details change:title", tell);
  draw();
  return () => {
    model.off("change:message change:details change:title", tell);
    root.remove();
  };
}

export default { render: guarded(render) };
