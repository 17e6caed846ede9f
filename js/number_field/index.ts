// A number field that keeps its text as typed; Python validates it and the error is shown below.
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Traits {
  label: string;
  text: string;
  problem: string;
  whole: boolean;
}

function render({ model, el }: Drawing<Traits>) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const root = document.createElement("div");
  root.className = "widget-inline-hbox hsd-number-field";
  const label = document.createElement("label");
  label.className = "widget-label";
  label.htmlFor = uid;
  label.textContent = model.get("label");
  const field = document.createElement("input");
  field.id = uid;
  field.type = "text";
  field.inputMode = model.get("whole") ? "numeric" : "decimal";
  field.autocomplete = "off";
  const problem = document.createElement("p");
  problem.id = `${uid}-p`;
  problem.className = "hsd-field-problem";
  problem.setAttribute("role", "status");
  root.append(label, field, problem);
  el.append(root);

  function fill() {
    if (field.value !== model.get("text")) field.value = model.get("text");
  }
  function say() {
    const words = model.get("problem");
    problem.textContent = words;
    field.setAttribute("aria-invalid", String(Boolean(words)));
    if (words) field.setAttribute("aria-describedby", problem.id);
    else field.removeAttribute("aria-describedby");
  }
  // On blur or Enter, not while typing.
  field.addEventListener("change", () => {
    model.set("text", field.value.slice(0, 100));
    model.save_changes();
  });
  const wires: [string, () => void][] = [
    ["change:text", fill],
    ["change:problem", say],
  ];
  for (const [event, f] of wires) {
    model.on(event, f);
    f();
  }
  return () => {
    for (const [event, f] of wires) model.off(event, f);
    root.remove();
  };
}

export default { render: guarded(render) };
