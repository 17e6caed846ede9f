// Slides of the lessons: one section at a time, by keys, buttons and the address (#12). Keys inside a view belong to the view.

const slides = [...document.querySelectorAll<HTMLElement>(".deck > section")];
const element = (id: string) => document.getElementById(id) as HTMLElement;
let at = 0;

function show(n: number) {
  at = Math.min(Math.max(n, 0), slides.length - 1);
  slides.forEach((slide, k) => {
    slide.classList.toggle("shown", k === at);
    slide.inert = k !== at;
  });
  element("place").textContent = `${at + 1} / ${slides.length}`;
  history.replaceState(null, "", `#${at + 1}`);
}

function lesson(number: string) {
  const first = slides.findIndex((slide) => slide.dataset.lesson === number);
  if (first >= 0) show(first);
}

function reveal() {
  const folded = slides[at].querySelector<HTMLDetailsElement>("details:not([open])");
  if (folded) folded.open = true;
}

function full() {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
}

const next = () => show(at + 1);
const back = () => show(at - 1);
const keys: Record<string, () => void> = {
  ArrowRight: next,
  PageDown: next,
  " ": next,
  ArrowLeft: back,
  PageUp: back,
  Home: () => show(0),
  End: () => show(slides.length - 1),
  f: full,
  r: reveal,
};

function pressed(event: KeyboardEvent) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const target = event.target as HTMLElement;
  if (event.key === "Escape") (document.activeElement as HTMLElement | null)?.blur();
  if (target.closest(".view") || (event.key === " " && target.closest("summary, button"))) return;
  const act = /^[1-9]$/.test(event.key) ? () => lesson(event.key) : keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}
// Before the views, which keep Escape to themselves.
addEventListener("keydown", pressed, { capture: true });
element("next").onclick = next;
element("back").onclick = back;
element("full").onclick = full;
const follow = () => show((Number.parseInt(location.hash.slice(1), 10) || 1) - 1);
addEventListener("hashchange", follow);
follow();
