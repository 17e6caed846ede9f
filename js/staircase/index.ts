// The player: the staircase of the run (stairs.ts) as its scrub bar, and buttons to step and play.
import { render } from "lit-html";
import { make, setAttributes } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { type Chart, chartOf, chartTemplate } from "./chart";
import { controls, type Place, placeOf } from "./controls";
import { stepAt } from "./stairs";

/** The view: its scrub bar with the chart, and the row of its controls. */
class StaircaseView {
  private readonly bar = make("div", "hsd-player-bar", "", {
    tabindex: 0,
    role: "slider",
    "aria-label": "Events of the run",
    "aria-valuemin": 1,
  });
  private readonly row = make("div", "hsd-player-row");
  /** Null until there is a run. */
  private chart: Chart | null = null;

  constructor(private readonly view: View<object>) {
    const { root, group } = view;
    root.classList.add("hsd-player");
    setAttributes(root, { role: "group", "aria-label": "Staircase and player" });
    root.append(make("h2", "hsd-heard", "Staircase of the run"), this.bar, this.row);
    // With reduced motion, start at one event per second.
    if (matchMedia("(prefers-reduced-motion: reduce)").matches && !group.cursor.playing)
      group.pace(1);
    this.listen();
    // Steps of a live run arrive more often than it is redrawn.
    view.redrawn(() => this.paint(), 80);
    view.follow(null, () => this.paintCursor());
    view.resized(this.bar, () => this.paint());
    this.paint();
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

  /** The event under the pointer. */
  private under(event: PointerEvent): number {
    if (!this.chart) return 0;
    const { stairs, frame } = this.chart;
    const x = event.clientX - this.bar.getBoundingClientRect().left;
    return stepAt(stairs, frame.valueAt(x), this.view.store.index().rounds);
  }

  private paint() {
    const { root, store, palette } = this.view;
    // The place of a run that has begun is kept: nothing below it moves when its first token comes.
    root.hidden = store.run === "";
    if (root.hidden) return;
    this.chart = chartOf(store, palette, this.bar.clientWidth, this.bar.clientHeight);
    this.paintCursor();
  }

  private paintCursor() {
    const { group, store, palette } = this.view;
    if (!this.chart) return;
    render(chartTemplate(this.chart, store, group.cursor), this.bar);
    const place = placeOf(store, palette, group.cursor);
    this.describe(place);
    render(controls(group, place), this.row);
  }

  /** The values of the slider; playing and hovering are not announced. */
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

export function staircaseView(view: View<object>): void {
  new StaircaseView(view);
}
export default linkedWidget(staircaseView);
