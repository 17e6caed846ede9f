// The tour's card and outline: it moves the cursor to the event of its stop, outlines the element,
// and keeps it in view beside the card.
import { html, render } from "lit-html";
import { make, press } from "../lib/dom";
import type { Group } from "../lib/group";
import { visible } from "../lib/words";
import { KEYS, STOPS, type Stop, textOf } from "./tour";

/** `go(key)` opens a stop; "": leave, `done` at the end. */
export function tourCard(
  app: HTMLElement,
  group: Group,
  go: (key: string, done?: boolean) => void,
) {
  const root = make("div", "hsd-linked hsd-tour hsd-tour-dock");
  let stop: Stop | null = null;
  let opener: HTMLElement | null = null;

  // --- the outlined element, which views may draw again or move while they open
  let marked: HTMLElement | null = null;
  let [top, touched, frame] = [Number.NaN, false, 0];
  function outline() {
    frame = requestAnimationFrame(outline);
    const all = (stop?.targets ?? []).flatMap((target) => [
      ...app.querySelectorAll<HTMLElement>(target),
    ]);
    const node = all.find((one) => one.getClientRects().length) ?? null;
    if (node !== marked) marked?.classList.remove("hsd-tour-lit");
    marked = node;
    if (!node) return;
    if (!node.classList.contains("hsd-tour-lit")) node.classList.add("hsd-tour-lit");
    // Its distance from the window's top is in the style sheet; below it is the card.
    if (!touched && node.getBoundingClientRect().top !== top)
      node.scrollIntoView({ block: "start" });
    top = node.getBoundingClientRect().top;
  }
  const touch = (e: Event) => {
    touched ||= e.type !== "keydown" || !root.contains(e.target as Node);
  };
  const kinds = ["wheel", "touchmove", "keydown", "pointerdown"];
  for (const kind of kinds) window.addEventListener(kind, touch, { passive: true, capture: true });

  const to = (name: string) => () => root.querySelector<HTMLElement>(`.hsd-tour-${name}`)?.click();
  const keys = (e: KeyboardEvent) =>
    press(e, { ArrowRight: to("next"), ArrowLeft: to("back"), Escape: to("leave") });
  function show(key: string) {
    const opened = !stop;
    const at = KEYS.indexOf(key);
    stop = STOPS[at];
    app.classList.add("hsd-touring");
    const last = at === STOPS.length - 1;
    render(
      html`<section
        class="hsd-tour-card"
        aria-label="Guided tour"
        tabindex="-1"
        data-step=${key}
        @keydown=${keys}
      >
        <div class="hsd-tour-head">
          <span class="hsd-tour-count">${at + 1} of ${STOPS.length}</span>
          <progress max=${STOPS.length} value=${at + 1} aria-hidden="true"></progress>
          <button
            class="hsd-tour-leave"
            title="Leave the tour (Esc)"
            aria-label="Leave the tour (Esc)"
            @click=${() => go("")}
          >
            ✕
          </button>
        </div>
        <div class="hsd-tour-said" aria-live="polite">
          <h2 class="hsd-tour-title">${stop.title}</h2>
          ${textOf(stop).map((words) => html`<p>${visible(words)}</p>`)}
        </div>
        <div class="hsd-tour-foot">
          <button
            class="hsd-tour-back"
            ?disabled=${at === 0}
            aria-label="Previous step (←)"
            @click=${() => go(KEYS[at - 1])}
          >
            Back
          </button>
          <button
            class="hsd-tour-next hsd-primary"
            aria-label=${last ? "End the tour" : "Next step (→)"}
            @click=${() => go(KEYS[at + 1] ?? "", last)}
          >
            ${last ? "Done" : "Next"}
          </button>
        </div>
      </section>`,
      root,
    );
    touched = false;
    group.pause();
    group.pin({ step: stop.step });
    if (opened) {
      opener = document.activeElement as HTMLElement | null;
      outline();
    }
    // A disabled button would lose the focus.
    if (opened || document.activeElement === document.body)
      root.querySelector<HTMLElement>(".hsd-tour-next")?.focus({ preventScroll: true });
  }
  function hide() {
    cancelAnimationFrame(frame);
    marked?.classList.remove("hsd-tour-lit");
    app.classList.remove("hsd-touring");
    if (!stop) return;
    group.release();
    [stop, marked] = [null, null];
    if (root.contains(document.activeElement) && opener?.isConnected)
      opener.focus({ preventScroll: true });
  }
  return {
    root,
    show,
    hide,
    close() {
      hide();
      for (const kind of kinds) window.removeEventListener(kind, touch, { capture: true });
    },
  };
}
