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
  model.on("change:message change:details change:title", draw);
  draw();
  return () => {
    model.off("change:message change:details change:title", draw);
    root.remove();
  };
}

export default { render: guarded(render) };
