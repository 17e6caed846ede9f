// A term with its definition.
import { focusable, make } from "./dom";

/** A term that shows its definition on hover and focus; Escape hides it. */
export function term(words: string, definition: string, id: string) {
  const box = make("span", "hsd-p-defined");
  const name = focusable(make("span", "hsd-p-term", words));
  name.setAttribute("aria-describedby", id);
  const tip = make("span", "hsd-p-tip", definition);
  tip.id = id;
  tip.setAttribute("role", "tooltip");
  function show(on: boolean) {
    box.classList.toggle("hsd-p-told", on);
    if (!on) return;
    // Keep it within the page's right edge.
    tip.style.left = "0";
    tip.style.left = `${Math.min(0, document.documentElement.clientWidth - 12 - tip.getBoundingClientRect().right)}px`;
  }
  box.addEventListener("pointerenter", () => show(true));
  box.addEventListener("pointerleave", () => show(document.activeElement === name));
  name.addEventListener("focus", () => show(true));
  name.addEventListener("blur", () => show(false));
  name.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !box.classList.contains("hsd-p-told")) return;
    show(false);
    e.stopPropagation();
  });
  box.append(name, tip);
  return box;
}
