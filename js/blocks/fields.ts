// Controls of the block editor: button, menu, check box, drag handle. `data-key` identifies each across redraws.
import { make } from "../lib/dom";

export function button(
  key: string,
  label: string,
  words: string,
  act: (event: MouseEvent) => void,
  cls = "hsd-blk-tool",
) {
  const node = make("button", cls, label);
  node.type = "button";
  node.dataset.key = key;
  if (words !== label) {
    node.title = words;
    node.setAttribute("aria-label", words);
  }
  node.addEventListener("click", act);
  return node;
}

export function menu(
  key: string,
  label: string,
  options: [string, string][],
  value: string,
  act: (value: string) => void,
) {
  const node = make("select", "hsd-blk-name");
  node.dataset.key = key;
  node.setAttribute("aria-label", label);
  for (const [name, words] of options) {
    const option = make("option", "", words);
    option.value = name;
    node.append(option);
  }
  node.value = value;
  node.addEventListener("change", () => act(node.value));
  return node;
}

export function check(key: string, label: string, on: boolean, act: () => void) {
  const box = make("input");
  box.type = "checkbox";
  box.checked = on;
  box.dataset.key = key;
  box.addEventListener("change", act);
  const wrap = make("label", "hsd-blk-check");
  wrap.append(box, make("span", "", label));
  return wrap;
}

/** Drag `row` by `grip` among `rows`, ordered from top to bottom. */
export function draggable(
  grip: HTMLElement,
  row: HTMLElement,
  rows: HTMLElement[],
  drop: (from: number, to: number) => void,
) {
  let to = -1;
  grip.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    e.preventDefault();
    grip.setPointerCapture(e.pointerId);
    row.classList.add("hsd-blk-dragged");
    to = rows.indexOf(row);
  });
  grip.addEventListener("pointermove", (e) => {
    if (!grip.hasPointerCapture(e.pointerId)) return;
    const middle = (r: HTMLElement) => {
      const b = r.getBoundingClientRect();
      return b.top + b.height / 2;
    };
    const from = rows.indexOf(row);
    to = rows.filter((r, i) => i !== from && middle(r) < e.clientY).length;
    for (const [i, r] of rows.entries()) {
      r.classList.toggle("hsd-blk-before", i === to && to < from);
      r.classList.toggle("hsd-blk-after", i === to && to > from);
    }
  });
  const end = (done: boolean) => {
    const from = rows.indexOf(row);
    for (const r of rows) r.classList.remove("hsd-blk-before", "hsd-blk-after", "hsd-blk-dragged");
    if (done && to >= 0 && to !== from) drop(from, to);
    to = -1;
  };
  grip.addEventListener("pointerup", () => end(true));
  grip.addEventListener("pointercancel", () => end(false));
}

export function grip(words: string) {
  const node = make("span", "hsd-blk-grip", "⠿");
  node.title = words;
  node.setAttribute("aria-hidden", "true");
  return node;
}
