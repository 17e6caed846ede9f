// A button that reads a local file and sends it to Python. Files over the size limit are rejected before sending.
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Traits {
  label: string;
  accept: string;
  most: number;
  /** Whether a file dropped anywhere on the page is opened. */
  drops: boolean;
}

/** Open a file that is dropped on the page around `root`; the page is outlined meanwhile. Returns a function that stops. */
function dropZone(root: HTMLElement, drop: (file: File) => void) {
  const page = () => root.closest<HTMLElement>(".hsd-app");
  const holds = (e: DragEvent) =>
    page()?.contains(e.target as Node) && [...(e.dataTransfer?.types ?? [])].includes("Files");
  const over = (e: DragEvent) => {
    if (e.defaultPrevented || !holds(e)) return page()?.classList.remove("hsd-drop-page");
    e.preventDefault();
    page()?.classList.add("hsd-drop-page");
  };
  const leave = (e: DragEvent) => {
    if (!page()?.contains(e.relatedTarget as Node | null)) page()?.classList.remove("hsd-drop-page");
  };
  const dropped = (e: DragEvent) => {
    page()?.classList.remove("hsd-drop-page");
    // A field of the page may have taken it.
    if (e.defaultPrevented || !holds(e)) return;
    e.preventDefault();
    const file = e.dataTransfer?.files[0];
    if (file) drop(file);
  };
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", leave);
  document.addEventListener("drop", dropped);
  return () => {
    document.removeEventListener("dragover", over);
    document.removeEventListener("dragleave", leave);
    document.removeEventListener("drop", dropped);
  };
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
  async function send(file: File | undefined) {
    if (!file) return;
    const content = { kind: "file", name: file.name, size: file.size };
    if (file.size > model.get("most")) model.send({ ...content, kind: "too large" });
    else {
      // A folder, or a deleted file.
      const bytes = await file.arrayBuffer().catch(() => null);
      if (bytes) model.send(content, undefined, [bytes]);
      else model.send({ ...content, kind: "unreadable" });
    }
  }
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", async () => {
    await send(input.files?.[0]);
    input.value = ""; // allows opening the same file again
  });
  const undrop = model.get("drops") ? dropZone(root, send) : () => {};
  root.append(button, input);
  el.append(root);
  return () => {
    undrop();
    root.remove();
  };
}

export default { render: guarded(render) };
