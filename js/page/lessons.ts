// Slides of the lessons: one section at a time, by keys, buttons and the address (#12). In a view, buttons leave the keys to the
// slides; what else has the focus there keeps them, except PageUp and PageDown.

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
  hint();
}

/** Say whether the slide continues below. */
function hint() {
  const { scrollHeight, scrollTop, clientHeight } = slides[at];
  document.body.classList.toggle("more", scrollHeight - scrollTop - clientHeight > 8);
}

function scroll(part: number) {
  slides[at].scrollBy({ top: part * slides[at].clientHeight });
}

function lesson(number: string) {
  const first = slides.findIndex((slide) => slide.dataset.lesson === number);
  if (first >= 0) show(first);
}

/** Open the next folded part and scroll to it; if none is folded, fold all. */
function reveal() {
  const folded = slides[at].querySelector<HTMLDetailsElement>("details:not([open])");
  if (!folded) for (const part of slides[at].querySelectorAll("details")) part.open = false;
  else {
    folded.open = true;
    folded.scrollIntoView({ block: "nearest" });
  }
}

function full() {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen();
}

const next = () => show(at + 1);
const back = () => show(at - 1);
const keys: Record<string, () => void> = {
  arrowright: next,
  pagedown: next,
  " ": next,
  arrowleft: back,
  pageup: back,
  arrowdown: () => scroll(0.6),
  arrowup: () => scroll(-0.6),
  home: () => show(0),
  end: () => show(slides.length - 1),
  f: full,
  r: reveal,
};

/** Whether the focus is on something in a view that may use the key itself. */
function belongsToView(target: HTMLElement, key: string) {
  if (!target.closest(".view") || key.startsWith("page")) return false;
  return !target.closest("button:not([role])") || ["arrowup", "arrowdown", "home", "end"].includes(key);
}

function pressed(event: KeyboardEvent) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const target = event.target as HTMLElement;
  const key = event.key.toLowerCase();
  if (key === "escape") (document.activeElement as HTMLElement | null)?.blur();
  if (belongsToView(target, key) || (key === " " && target.closest("summary, button"))) return;
  const act = /^[1-9]$/.test(key) ? () => lesson(key) : keys[key];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}

/** Scale the views with the screen: their type is made for a desk. */
function fit() {
  const zoom = Math.max(1, Math.min(innerWidth / 1000, innerHeight / 570));
  document.documentElement.style.setProperty("--zoom", zoom.toFixed(3));
  hint();
}

// Before the views, which keep Escape to themselves.
addEventListener("keydown", pressed, { capture: true });
element("next").onclick = next;
element("back").onclick = back;
element("full").onclick = full;
element("more").onclick = () => scroll(0.6);
const grown = new ResizeObserver(hint);
for (const slide of slides) {
  slide.addEventListener("scroll", hint, { passive: true });
  grown.observe(slide.firstElementChild as HTMLElement);
}
addEventListener("resize", fit);
const follow = () => show((Number.parseInt(location.hash.slice(1), 10) || 1) - 1);
addEventListener("hashchange", follow);
follow();
fit();
