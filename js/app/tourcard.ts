// The card of the tour. It moves the cursor to the event of its stop, outlines an element, and
// keeps that element in view beside the card.
import { html, render } from "lit-html";
import { make, press } from "../lib/dom";
import type { Group } from "../lib/group";
import { visible } from "../lib/words";
import { KEYS, STOPS, type Stop, textOf } from "./tour";

/** Events of the visitor that end the scrolling by the tour. */
const TOUCHES = ["wheel", "touchmove", "keydown", "pointerdown"];

export class TourCard {
  readonly root = make("div", "hsd-linked hsd-tour hsd-tour-dock");
  private stop: Stop | null = null;
  /** The element that had the focus before the tour. */
  private opener: HTMLElement | null = null;
  /** The outlined element. Views may redraw or move it while they open. */
  private marked: HTMLElement | null = null;
  /** Its position in the last frame, in pixels from the window's top. */
  private top = Number.NaN;
  private frame = 0;
  private touched = false;

  /** `go(key)` opens a stop; an empty key leaves the tour, with `done` at its end. */
  constructor(
    private readonly app: HTMLElement,
    private readonly group: Group,
    private readonly go: (key: string, done?: boolean) => void,
  ) {
    for (const kind of TOUCHES)
      window.addEventListener(kind, this.touch, { passive: true, capture: true });
  }

  private readonly touch = (e: Event) => {
    this.touched ||= e.type !== "keydown" || !this.root.contains(e.target as Node);
  };
  private readonly outline = () => {
    this.frame = requestAnimationFrame(this.outline);
    const marked = (this.stop?.targets ?? []).flatMap((target) => [
      ...this.app.querySelectorAll<HTMLElement>(target),
    ]);
    const node = marked.find((element) => element.getClientRects().length) ?? null;
    if (node !== this.marked) this.marked?.classList.remove("hsd-tour-lit");
    this.marked = node;
    if (!node) return;
    if (!node.classList.contains("hsd-tour-lit")) node.classList.add("hsd-tour-lit");
    // The style sheet sets the element's distance from the window's top, above the card.
    if (!this.touched && node.getBoundingClientRect().top !== this.top)
      node.scrollIntoView({ block: "start" });
    this.top = node.getBoundingClientRect().top;
  };

  show(key: string) {
    const isFirst = !this.stop;
    const index = KEYS.indexOf(key);
    this.stop = STOPS[index];
    this.app.classList.add("hsd-touring");
    render(this.template(this.stop, index), this.root);
    this.touched = false;
    this.group.pause();
    this.group.pin({ step: this.stop.step });
    if (isFirst) {
      this.opener = document.activeElement as HTMLElement | null;
      this.outline();
    }
    // Keep the focus off a button that is disabled.
    if (isFirst || document.activeElement === document.body)
      this.root.querySelector<HTMLElement>(".hsd-tour-next")?.focus({ preventScroll: true });
  }
  hide() {
    cancelAnimationFrame(this.frame);
    this.marked?.classList.remove("hsd-tour-lit");
    this.app.classList.remove("hsd-touring");
    if (!this.stop) return;
    this.group.release();
    this.stop = null;
    this.marked = null;
    if (this.root.contains(document.activeElement) && this.opener?.isConnected)
      this.opener.focus({ preventScroll: true });
  }
  close() {
    this.hide();
    for (const kind of TOUCHES) window.removeEventListener(kind, this.touch, { capture: true });
  }

  private readonly keys = (e: KeyboardEvent) => {
    const click = (name: string) => () =>
      this.root.querySelector<HTMLElement>(`.hsd-tour-${name}`)?.click();
    press(e, { ArrowRight: click("next"), ArrowLeft: click("back"), Escape: click("leave") });
  };
  private template(stop: Stop, at: number) {
    return html`<section
      class="hsd-tour-card"
      aria-label="Guided tour"
      tabindex="-1"
      data-step=${stop.key}
      @keydown=${this.keys}
    >
      <div class="hsd-tour-head">
        <span class="hsd-tour-count">${at + 1} of ${STOPS.length}</span>
        <progress max=${STOPS.length} value=${at + 1} aria-hidden="true"></progress>
        <button
          class="hsd-tour-leave"
          title="Leave the tour (Esc)"
          aria-label="Leave the tour (Esc)"
          @click=${() => this.go("")}
        >
          ✕
        </button>
      </div>
      <div class="hsd-tour-said" aria-live="polite">
        <h2 class="hsd-tour-title">${stop.title}</h2>
        ${textOf(stop).map((words) => html`<p>${visible(words)}</p>`)}
      </div>
      ${this.foot(at)}
    </section>`;
  }
  private foot(at: number) {
    const isLast = at === STOPS.length - 1;
    return html`<div class="hsd-tour-foot">
      <button
        class="hsd-tour-back"
        ?disabled=${at === 0}
        aria-label="Previous step (←)"
        @click=${() => this.go(KEYS[at - 1])}
      >
        Back
      </button>
      <button
        class="hsd-tour-next hsd-primary"
        aria-label=${isLast ? "End the tour" : "Next step (→)"}
        @click=${() => this.go(KEYS[at + 1] ?? "", isLast)}
      >
        ${isLast ? "Done" : "Next"}
      </button>
    </div>`;
  }
}
