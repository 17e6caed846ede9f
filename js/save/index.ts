// A save button with a menu of file forms (none for a single form). Python creates the file; the browser downloads it.
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Traits {
  label: string;
  forms: { id: string; label: string; ending: string; words: string }[];
  disabled: boolean;
}
type Answer = { kind: "file"; name: string; type: string } | { kind: "failed" };

/** Start a download. */
function keep(name: string, type: string, bytes: BlobPart) {
  const address = URL.createObjectURL(new Blob([bytes], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.hidden = true;
  document.body.append(link);
  link.click();
  link.remove();
  // The download has started; release the memory.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** The next focused row in a menu of `count` rows. Returns -1: unchanged */
export function moved(key: string, at: number, count: number): number {
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at + count - 1) % count;
  return key === "Home" ? 0 : key === "End" ? count - 1 : -1;
}

function render({ model, el }: Drawing<Traits>) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const root = document.createElement("div");
  root.className = "hsd-save";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "jupyter-button hsd-quiet";
  // A single form needs no menu.
  const only = model.get("forms").length === 1 ? model.get("forms")[0] : null;
  if (only) button.title = `${only.words} (${only.ending})`;
  else {
    button.setAttribute("aria-haspopup", "menu");
    button.setAttribute("aria-controls", `${uid}-menu`);
  }
  const menu = document.createElement("div");
  menu.className = "hsd-save-menu";
  menu.id = `${uid}-menu`;
  menu.setAttribute("role", "menu");
  menu.setAttribute("aria-label", "Save the run as");
  const said = document.createElement("span");
  said.className = "hsd-save-said";
  said.setAttribute("role", "status");
  let making = false;

  const rows = model.get("forms").map((form) => {
    const row = document.createElement("button");
    row.type = "button";
    row.setAttribute("role", "menuitem");
    row.tabIndex = -1;
    for (const [part, text] of [
      ["label", form.label],
      ["ending", form.ending],
      ["words", form.words],
    ]) {
      const cell = document.createElement("span");
      cell.className = `hsd-save-${part}`;
      cell.textContent = text;
      row.append(cell, " ");
    }
    row.addEventListener("click", () => ask(form.id));
    menu.append(row);
    return row;
  });

  function ask(form: string) {
    show(false);
    button.focus();
    making = true;
    said.textContent = "";
    draw();
    model.send({ kind: "save", form });
  }
  function show(open: boolean) {
    menu.hidden = !open;
    if (!only) button.setAttribute("aria-expanded", String(open));
    if (!open) return;
    // Aligned to the button's right end, but within the page's left edge.
    menu.style.right = "0";
    menu.style.right = `${Math.min(0, menu.getBoundingClientRect().left - 8)}px`;
  }
  function draw() {
    button.textContent = making ? "Saving …" : model.get("label");
    button.disabled = model.get("disabled");
    // Not disabled, which would lose the focus.
    button.setAttribute("aria-disabled", String(making));
    if (button.disabled) show(false);
  }
  button.addEventListener("click", () => {
    if (making) return;
    if (only) {
      ask(only.id);
      return;
    }
    show(menu.hidden === true);
    if (!menu.hidden) rows[0].focus();
  });
  root.addEventListener("keydown", (e) => {
    if (menu.hidden || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Escape") {
      show(false);
      button.focus();
    } else if (e.key === "Tab") {
      show(false);
      return;
    } else {
      const to = moved(e.key, rows.indexOf(e.target as HTMLButtonElement), rows.length);
      if (to < 0) return;
      rows[to].focus();
    }
    e.preventDefault();
    e.stopPropagation();
  });
  const outside = (e: Event) => {
    if (!root.contains(e.target as Node)) show(false);
  };
  function told(content: Answer, buffers: BlobPart[]) {
    if (content.kind !== "file" && content.kind !== "failed") return;
    // The widget may be displayed twice: only the requesting view saves the file.
    if (!making) return;
    making = false;
    draw();
    if (content.kind === "failed") return;
    keep(content.name, content.type, buffers[0]);
    said.textContent = `${content.name} saved to your downloads.`;
  }
  document.addEventListener("pointerdown", outside);
  model.on("msg:custom", told);
  model.on("change:disabled change:label", draw);
  root.append(button, menu, said);
  el.append(root);
  show(false);
  draw();
  return () => {
    document.removeEventListener("pointerdown", outside);
    model.off("msg:custom", told);
    model.off("change:disabled change:label", draw);
    root.remove();
  };
}

export default { render: guarded(render) };
