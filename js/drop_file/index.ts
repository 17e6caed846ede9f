// A field that a local file of any size is dropped on. It is sent in parts, each when Python has stored the one before.
import { make } from "../lib/dom";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Traits {
  label: string;
  hint: string;
  accept: string;
  most: number;
  /** Bytes of a part. */
  part: number;
  /** Name of the stored file. */
  name: string;
}
interface Answer {
  kind: "next" | "stop";
  at?: number;
}

/** A number of bytes, as people say it. */
export function size(bytes: number) {
  const [unit, scale] = bytes >= 1e9 ? ["GB", 1e9] : bytes >= 1e6 ? ["MB", 1e6] : ["kB", 1e3];
  return `${(bytes / scale).toFixed(bytes < 10 * scale ? 1 : 0)} ${unit}`;
}

function render({ model, el }: Drawing<Traits>) {
  const root = make("div", "hsd-drop");
  const button = make("button", "jupyter-button hsd-quiet", model.get("label"));
  button.type = "button";
  const input = make("input");
  input.type = "file";
  input.accept = model.get("accept");
  input.hidden = true;
  const words = make("div", "hsd-drop-words");
  const said = make("strong");
  said.setAttribute("role", "status");
  const meter = make("div", "hsd-drop-meter");
  words.append(said, make("span", "hsd-drop-hint", model.get("hint")), meter);
  root.append(words, button, input);
  el.append(root);

  let file: File | null = null;
  let busy = false;

  function show(at = 0) {
    root.classList.toggle("hsd-drop-busy", busy);
    button.textContent = busy ? "Cancel" : model.get("label");
    meter.style.setProperty("--done", `${file?.size ? (100 * at) / file.size : 0}%`);
    if (busy && file) said.textContent = `${file.name}: ${size(at)} of ${size(file.size)}`;
    else if (file && model.get("name")) said.textContent = `${model.get("name")}, ${size(file.size)}`;
    else said.textContent = model.get("name") || "Drop a file here";
  }
  function stop() {
    busy = false;
    file = null;
    show();
  }
  function start(chosen?: File | null) {
    if (!chosen || busy) return;
    file = chosen;
    busy = file.size <= model.get("most");
    model.send({ kind: "start", name: file.name, size: file.size });
    if (!busy) file = null;
    show();
  }
  async function answer(message: Answer) {
    if (!busy || !file) return;
    if (message.kind === "stop" || message.at === undefined) return stop();
    if (message.at >= file.size) {
      busy = false;
      return show();
    }
    show(message.at);
    const sent = file;
    // Null for a folder, or for a file that was deleted.
    const bytes = await sent
      .slice(message.at, message.at + model.get("part"))
      .arrayBuffer()
      .catch(() => null);
    if (!busy || file !== sent) return;
    if (bytes?.byteLength) model.send({ kind: "part", at: message.at }, undefined, [bytes]);
    else {
      model.send({ kind: "unreadable" });
      stop();
    }
  }
  button.addEventListener("click", () => {
    if (!busy) return input.click();
    model.send({ kind: "cancel" });
    stop();
  });
  input.addEventListener("change", () => {
    start(input.files?.[0]);
    input.value = ""; // allows opening the same file again
  });
  root.addEventListener("dragover", (event) => {
    event.preventDefault();
    root.classList.add("hsd-drop-over");
  });
  root.addEventListener("dragleave", () => root.classList.remove("hsd-drop-over"));
  root.addEventListener("drop", (event) => {
    event.preventDefault();
    root.classList.remove("hsd-drop-over");
    start(event.dataTransfer?.files[0]);
  });
  const named = () => show();
  model.on("msg:custom", answer);
  model.on("change:name", named);
  show();
  return () => {
    model.off("msg:custom", answer);
    model.off("change:name", named);
    root.remove();
  };
}

export default { render: guarded(render) };
