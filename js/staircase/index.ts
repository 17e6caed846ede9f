// The player: a picture of the run that can be scrubbed, with controls. As a single view it is the
// staircase with buttons. The page shows it twice: the buttons with a strip of the rounds in its
// bar, and below the staircase with the description of the cursor's place.
import { html, render } from "lit-html";
import { make, setAttributes } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { chartOf } from "./chart";
import { buttons, line, type Place, placeOf, SHORT_SPEEDS, SPEEDS, speedMenu } from "./controls";
import type { Picture } from "./picture";
import { stripOf } from "./strip";

/** The shown parts: staircase and buttons, only the staircase, or the buttons with a strip. */
type Show = "all" | "chart" | "bar";
interface Traits {
  show?: Show;
}

const NAMES = {
  all: "Staircase and player",
  chart: "Staircase of the run",
  bar: "Player",
};

class StaircaseView {
  private readonly show: Show;
  private readonly bar = make("div", "hsd-player-bar");
  private readonly row = make("div", "hsd-player-row");
  /** The picture; null: there is no run yet. */
  private picture: Picture | null = null;

  constructor(private readonly view: View<Traits>) {
    const { root, model, group } = view;
    this.show = model.get("show") ?? "all";
    root.classList.add("hsd-player", `hsd-player-shows-${this.show}`);
    setAttributes(root, { role: "group", "aria-label": NAMES[this.show] });
    if (this.show !== "bar") root.append(make("h2", "hsd-heard", "Staircase of the run"));
    // The strip is the slider for the keyboard; the staircase is only for the pointer.
    if (this.show === "chart") this.bar.setAttribute("aria-hidden", "true");
    else this.makeSlider();
    const parts = [this.bar, this.row];
    root.append(...(this.show === "bar" ? parts.reverse() : parts));
    // With reduced motion, start at one event per second.
    if (matchMedia("(prefers-reduced-motion: reduce)").matches && !group.cursor.playing)
      group.pace(1);
    this.listen();
    // Steps of a live run arrive more often than the view needs to be redrawn.
    view.redrawn(() => this.paint(), 80);
    view.follow(null, () => this.paintCursor());
    view.resized(this.bar, () => this.paint());
    this.paint();
  }

  private makeSlider() {
    setAttributes(this.bar, {
      tabindex: 0,
      role: "slider",
      "aria-label": "Events of the run",
      "aria-valuemin": 1,
    });
  }

  private listen() {
    const { bar } = this;
    const { group } = this.view;
    bar.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      bar.setPointerCapture(event.pointerId);
      group.pause();
      group.scrub(this.under(event));
    });
    bar.addEventListener("pointermove", (event) => {
      if (bar.hasPointerCapture(event.pointerId)) group.scrub(this.under(event));
      else if (event.pointerType === "mouse") group.hover({ step: this.under(event) });
    });
    bar.addEventListener("pointerleave", () => group.hover(null));
  }

  /** Return the event under the pointer. */
  private under(event: PointerEvent): number {
    const left = this.bar.getBoundingClientRect().left;
    return this.picture?.stepAt(event.clientX - left) ?? 0;
  }

  private paint() {
    const { root, store, palette } = this.view;
    // Keep the space of a run that has begun, so that its first token moves nothing below.
    root.hidden = store.run === "";
    if (root.hidden) return;
    const { clientWidth, clientHeight } = this.bar;
    const draw = this.show === "bar" ? stripOf : chartOf;
    this.picture = draw(store, palette, clientWidth, clientHeight);
    this.paintCursor();
  }

  private paintCursor() {
    const { group, store, palette } = this.view;
    if (!this.picture) return;
    render(this.picture.drawn(group.cursor), this.bar);
    const place = placeOf(store, palette, group.cursor);
    if (this.show !== "chart") this.describe(place);
    render(this.controls(place), this.row);
  }

  private controls(place: Place) {
    const { group } = this.view;
    if (this.show === "chart") return line(group, place);
    if (this.show === "bar") return html`${buttons(group)}${speedMenu(group, SHORT_SPEEDS)}`;
    return html`${buttons(group)}${speedMenu(group, SPEEDS)}${line(group, place)}`;
  }

  /** Set the values of the slider. Playing and hovering are not announced. */
  private describe({ place, words }: Place) {
    const { events } = this.view.store.index();
    const { step, playing, hover } = this.view.group.cursor;
    const isThere = events[step] !== undefined;
    setAttributes(this.bar, {
      "aria-valuemax": Math.max(1, events.length),
      "aria-valuenow": Math.max(0, step) + 1,
    });
    if (!isThere || !(playing || hover)) {
      const text = isThere ? `${place}: ${words}` : "no event selected";
      setAttributes(this.bar, { "aria-valuetext": text });
    }
  }
}

export function staircaseView(view: View<Traits>): void {
  new StaircaseView(view);
}
export default linkedWidget(staircaseView);
