// The tour's card and outline: it moves the cursor to the event of its stop (`place`), outlines the element, and scrolls it into view
// beside the card. What its buttons do is up to the page (app/tour.ts).

import { make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import { drawNotice } from "../lib/notice";
import { visible } from "../lib/words";

export type Act = "next" | "back" | "leave" | "restart" | "lesson";
/** A stop of the tour; empty when it is closed. */
export interface TourStep {
  key?: string;
  run?: string;
  step?: number;
  number: number;
  count: number;
  title: string;
  text: string[];
  trouble?: string;
  lesson?: string;
  targets?: string[];
}
interface Traits {
  place: TourStep;
  act: (act: Act) => void;
}

function tourView({ model, root, group, store, follow }: View<Traits>) {
  root.classList.add("hsd-tour");
  root.hidden = true;
  const card = make("section", "hsd-tour-card");
  card.setAttribute("aria-label", "Guided tour");
  card.tabIndex = -1;
  const head = make("div", "hsd-tour-head");
  const title = make("h2", "hsd-tour-title");
  const count = make("span", "hsd-tour-count");
  const body = make("div", "hsd-tour-body");
  const said = make("div", "hsd-tour-said");
  said.setAttribute("aria-live", "polite");
  const lesson = make("button", "hsd-tour-lesson");
  lesson.type = "button";
  lesson.title = "Open the lesson of the course about this step in a new window";
  said.append(title, body, lesson);
  const trouble = make("div", "hsd-tour-trouble");
  const foot = make("div", "hsd-tour-foot");
  const track = make("div", "hsd-tour-track");
  track.setAttribute("aria-hidden", "true");
  const button = (label: string, words: string, act: () => void, cls = "") => {
    const node = make("button", cls, label);
    node.type = "button";
    if (words !== label) {
      node.title = words;
      node.setAttribute("aria-label", words);
    }
    node.addEventListener("click", act);
    return node;
  };
  const send = (act: Act) => model.get("act")(act);
  const back = button("Back", "Previous step (←)", () => send("back"));
  const next = button("Next", "Next step (→)", () => send("next"), "hsd-tour-next");
  const again = button("Start over", "Start over", () => send("restart"), "hsd-tour-again");
  const leave = button("✕", "Leave the tour (Esc)", () => send("leave"), "hsd-tour-leave");
  head.append(count, track, leave);
  foot.append(again, back, next);
  card.append(head, said, trouble, foot);
  root.append(card);

  const app = () => root.closest(".hsd-app") as HTMLElement | null;
  const calm = matchMedia("(prefers-reduced-motion: reduce)");

  // --- the outlined element
  let marked: HTMLElement | null = null;
  let opener: HTMLElement | null = null;
  let shown = ""; // the step already applied
  let touched = false; // the user has scrolled since
  const place = () => model.get("place");

  function find() {
    for (const selector of place().targets || []) {
      for (const node of (app() || document).querySelectorAll(selector)) {
        if (node.getClientRects().length) return node as HTMLElement;
      }
    }
    return null;
  }
  function mark() {
    const node = place().key ? find() : null;
    if (node !== marked) {
      marked?.classList.remove("hsd-tour-lit");
      if (marked) sizes.unobserve(marked);
      if (node) sizes.observe(node);
      marked = node;
    }
    // Views that redraw themselves may drop the class.
    if (!marked?.classList.contains("hsd-tour-lit")) marked?.classList.add("hsd-tour-lit");
  }
  const touch = (e: Event) => {
    if (e.type !== "keydown" || !card.contains(e.target as Node)) touched = true;
  };
  /** Its distance from the window's top is in the style sheet; below it is the card. */
  function reveal() {
    if (!touched) marked?.scrollIntoView?.({ block: "start", behavior: calm.matches ? "auto" : "smooth" });
  }
  function settle() {
    touched = false;
    arrange();
  }
  function arrange() {
    mark();
    reveal();
  }
  // Views draw themselves when they are opened, which moves what the step points at.
  let moved = 0;
  const sizes = new ResizeObserver(() => {
    cancelAnimationFrame(moved);
    if (!root.hidden) moved = requestAnimationFrame(arrange);
  });

  let frame = 0;
  const watcher = new MutationObserver((changes) => {
    if (frame || changes.every((c) => root.contains(c.target))) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (place().key) mark();
    });
  });

  // --- the card
  function go() {
    const { key, run, step } = place();
    if (!key || shown === key || run !== store.run || !store.tokens.length) return;
    shown = key;
    group.pause();
    group.pin({ step });
    settle();
  }
  function paint() {
    const now = place();
    const open = Boolean(now.key);
    const opened = open && root.hidden;
    root.hidden = !open;
    app()?.classList.toggle("hsd-touring", open);
    if (!open) {
      const had = root.contains(document.activeElement) || document.activeElement === document.body;
      if (shown) {
        group.release();
        mark();
        watcher.disconnect();
        sizes.disconnect();
      }
      shown = "";
      if (had && opener?.isConnected) opener.focus({ preventScroll: true });
      opener = null;
      return;
    }
    drawNotice(trouble, { message: now.trouble || "" });
    if (card.dataset.step !== now.key || opened) {
      card.dataset.step = now.key;
      count.textContent = `${now.number} of ${now.count}`;
      track.style.setProperty("--part", `${(100 * now.number) / now.count}%`);
      title.textContent = now.title;
      lesson.textContent = now.lesson ? `${now.lesson} ↗` : "";
      lesson.hidden = !now.lesson;
      body.replaceChildren(...now.text.map((words) => make("p", "", visible(words))));
      body.scrollTop = 0;
      back.disabled = now.number === 1;
      again.hidden = now.number === 1;
      next.textContent = now.number === now.count ? "Done" : "Next";
      next.setAttribute("aria-label", now.number === now.count ? "End the tour" : "Next step (→)");
      // A disabled button would lose the focus.
      if (document.activeElement === document.body && !opened) next.focus({ preventScroll: true });
    }
    if (opened) {
      opener = document.activeElement as HTMLElement | null;
      shown = "";
      next.focus({ preventScroll: true });
      const host = app();
      if (host) sizes.observe(host);
      if (host)
        watcher.observe(host, {
          subtree: true,
          childList: true,
          attributes: true,
          attributeFilter: ["class", "hidden"],
        });
    }
    if (shown !== now.key) {
      mark();
      go();
    }
  }
  card.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    const keys: Record<string, () => void> = {
      ArrowRight: () => next.click(),
      ArrowLeft: () => {
        if (!back.disabled) back.click();
      },
      Escape: () => leave.click(),
    };
    if (!Object.hasOwn(keys, e.key)) return;
    keys[e.key]();
    e.preventDefault();
    e.stopPropagation();
  });

  const onStore = (what: string) => {
    if (what === "reset") go();
  };
  lesson.addEventListener("click", () => send("lesson"));
  follow(onStore);
  model.on("change:place", paint);
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"])
    window.addEventListener(kind, touch, { passive: true, capture: true });
  paint();
  return () => {
    watcher.disconnect();
    sizes.disconnect();
    cancelAnimationFrame(moved);
    marked?.classList.remove("hsd-tour-lit");
    app()?.classList.remove("hsd-touring");
    model.off("change:place", paint);
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"])
      window.removeEventListener(kind, touch, { capture: true });
  };
}
export default linkedWidget(tourView);
