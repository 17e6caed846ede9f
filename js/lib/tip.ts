// Terms with a tooltip that defines them.
import { html } from "lit-html";

function show(box: HTMLElement, on: boolean) {
  box.classList.toggle("hsd-p-told", on);
  if (!on) return;
  // Move the tooltip left if it exceeds the page's right edge.
  const tip = box.lastElementChild as HTMLElement;
  tip.style.left = "0";
  const room = document.documentElement.clientWidth - 12;
  tip.style.left = `${Math.min(0, room - tip.getBoundingClientRect().right)}px`;
}
const over = ({ currentTarget }: { currentTarget: HTMLElement }) => show(currentTarget, true);
const out = ({ currentTarget: box }: { currentTarget: HTMLElement }) =>
  show(box, document.activeElement === box.firstElementChild);
function close(e: KeyboardEvent & { currentTarget: HTMLElement }) {
  if (e.key !== "Escape" || !e.currentTarget.classList.contains("hsd-p-told")) return;
  show(e.currentTarget, false);
  e.stopPropagation();
}
const focused = (on: boolean) => (e: { currentTarget: HTMLElement }) => show(e.currentTarget, on);

/** Return a term that shows its definition on hover and focus; Escape hides it. */
export const term = (words: string, definition: string, id: string) =>
  html`<span
    class="hsd-p-defined"
    @pointerenter=${over}
    @pointerleave=${out}
    @focusin=${focused(true)}
    @focusout=${focused(false)}
    @keydown=${close}
    ><span class="hsd-p-term" tabindex="0" aria-describedby=${id}>${words}</span
    ><span class="hsd-p-tip" id=${id} role="tooltip">${definition}</span></span
  >`;
