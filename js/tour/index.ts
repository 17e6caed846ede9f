// The tour's card and outline: it moves the cursor to the event of its stop (`place`), outlines the element, and keeps it in view beside
// the card. What its buttons do is up to the page (app/tour.ts).
import { html, nothing, render } from "lit-html";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
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
  lesson?: string;
  targets?: string[];
}
interface Traits {
  place: TourStep;
  act: (act: Act) => void;
}

function tourView({ model, root, group, store, follow }: View<Traits>) {
  root.classList.add("hsd-tour");
  const place = () => model.get("place");
  const app = () => root.closest<HTMLElement>(".hsd-app");
  let opener: HTMLElement | null = null;
  let shown = ""; // the step already applied

  // --- the outlined element, which views may draw again or move while they open
  let marked: HTMLElement | null = null;
  let top = Number.NaN;
  let touched = false; // the visitor has scrolled since
  let frame = 0;
  function outline() {
    frame = requestAnimationFrame(outline);
    const all = (place().targets ?? []).flatMap((target) => [...(app()?.querySelectorAll<HTMLElement>(target) ?? [])]);
    const node = all.find((one) => one.getClientRects().length) ?? null;
    if (node !== marked) marked?.classList.remove("hsd-tour-lit");
    marked = node;
    if (!node) return;
    if (!node.classList.contains("hsd-tour-lit")) node.classList.add("hsd-tour-lit");
    // Its distance from the window's top is in the style sheet; below it is the card.
    if (!touched && node.getBoundingClientRect().top !== top) node.scrollIntoView({ block: "start" });
    top = node.getBoundingClientRect().top;
  }
  function end() {
    cancelAnimationFrame(frame);
    marked?.classList.remove("hsd-tour-lit");
    marked = null;
  }
  const touch = (e: Event) => {
    touched ||= e.type !== "keydown" || !root.contains(e.target as Node);
  };

  // --- the card
  function go() {
    const { key, run, step } = place();
    if (!key || shown === key || run !== store.run || !store.tokens.length) return;
    shown = key;
    touched = false;
    group.pause();
    group.pin({ step });
  }
  function paint() {
    const now = place();
    const [open, opened] = [Boolean(now.key), Boolean(now.key) && root.hidden];
    root.hidden = !open;
    app()?.classList.toggle("hsd-touring", open);
    if (!open) {
      const had = root.contains(document.activeElement) || document.activeElement === document.body;
      if (shown) group.release();
      shown = "";
      end();
      if (had && opener?.isConnected) opener.focus({ preventScroll: true });
      opener = null;
      return;
    }
    const act = (name: Act) => () => model.get("act")(name);
    const [first, last] = [now.number === 1, now.number === now.count];
    render(
      html`<section class="hsd-tour-card" aria-label="Guided tour" tabindex="-1" data-step=${now.key} @keydown=${keys}>
        <div class="hsd-tour-head"><span class="hsd-tour-count">${now.number} of ${now.count}</span>
          <div class="hsd-tour-track" aria-hidden="true" .style=${`--part: ${(100 * now.number) / now.count}%`}></div>
          <button type="button" class="hsd-tour-leave" title="Leave the tour (Esc)" aria-label="Leave the tour (Esc)" @click=${act("leave")}>✕</button></div>
        <div class="hsd-tour-said" aria-live="polite"><h2 class="hsd-tour-title">${now.title}</h2>
          <div class="hsd-tour-body">${now.text.map((words) => html`<p>${visible(words)}</p>`)}</div>
          ${now.lesson ? html`<button type="button" class="hsd-tour-lesson" title="Open the lesson of the course about this step in a new window" @click=${act("lesson")}>${now.lesson} ↗</button>` : nothing}</div>
        <div class="hsd-tour-foot">
          <button type="button" class="hsd-tour-again" ?hidden=${first} @click=${act("restart")}>Start over</button>
          <button type="button" class="hsd-tour-back" ?disabled=${first} aria-label="Previous step (←)" @click=${act("back")}>Back</button>
          <button type="button" class="hsd-tour-next" aria-label=${last ? "End the tour" : "Next step (→)"} @click=${act("next")}>${last ? "Done" : "Next"}</button></div>
      </section>`,
      root,
    );
    if (opened) {
      opener = document.activeElement as HTMLElement | null;
      outline();
    }
    // A disabled button would lose the focus.
    if (opened || document.activeElement === document.body)
      root.querySelector<HTMLElement>(".hsd-tour-next")?.focus({ preventScroll: true });
    go();
  }
  function keys(e: KeyboardEvent) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    const name = { ArrowRight: "next", ArrowLeft: "back", Escape: "leave" }[e.key];
    if (!name) return;
    root.querySelector<HTMLElement>(`.hsd-tour-${name}`)?.click();
    e.preventDefault();
    e.stopPropagation();
  }

  follow((what) => {
    if (what === "reset") go();
  });
  model.on("change:place", paint);
  root.hidden = true;
  const kinds = ["wheel", "touchmove", "keydown", "pointerdown"];
  for (const kind of kinds) window.addEventListener(kind, touch, { passive: true, capture: true });
  paint();
  return () => {
    end();
    app()?.classList.remove("hsd-touring");
    model.off("change:place", paint);
    for (const kind of kinds) window.removeEventListener(kind, touch, { capture: true });
  };
}
export default linkedWidget(tourView);
