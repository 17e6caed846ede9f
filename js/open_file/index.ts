// A button that reads a local file and sends it to Python. Files over the size limit are rejected before sending.
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Traits {
  label: string;
  accept: string;
  most: number;
}

function render({ model, el }: Drawing<Traits>) {
  const root = document.createElement("div");
  root.className = "hsd-open";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jupyter-button hsd-quiet";
  button.textContent = model.get("label");
  button.title = `A file of up to ${Math.round(model.get("most") / 1e6)} MB`;
  const input = document.createElement("input");
  input.type = "file";
  input.accept = model.get("accept");
  input.hidden = true;
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    const file = input.files?.[0];
    if (!file) return;
    const content = { kind: "file", name: file.name, size: file.size };
    if (file.size > model.get("most")) model.send({ ...content, kind: "too large" });
    else {
      // A folder, or a deleted file.
      const bytes = await file.arrayBuffer().catch(() => null);
      if (bytes) model.send(content, undefined, [bytes]);
      else model.send({ ...content, kind: "unreadable" });
    }
    input.value = ""; // allows opening the same file again
  });
  root.append(button, input);
  el.append(root);
  return () => root.remove();
}

export default { render: guarded(render) };
