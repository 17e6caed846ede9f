// The race: the staircases of all runs on one clock that can be played and dragged, and a line per
// run.
import { html, render } from "lit-html";
import { type Frame, onResize } from "../lib/chart";
import { make } from "../lib/dom";
import type { Palette } from "../lib/palette";
import { duration, plural } from "../lib/words";
import { type Clock, controls, type RaceActions, runnerTemplate } from "./race_controls";
import { picture } from "./race_picture";
import { frameFor } from "./race_places";
import { crossingOf, fitSpeed, goalOf, type Runner, stateAt } from "./race_time";

/** Visible share of the picture from which a race counts as seen. */
const SEEN = 0.6;

/** A race: its clock and its elements. */
export class Race {
  readonly root = make("div", "hsd-vs-race", "", { role: "group", "aria-label": "Race" });
  private readonly plot = make("div", "hsd-vs-plot");
  private readonly clock: Clock;
  private frame = 0;
  /** Time of the last frame. */
  private before = 0;
  private readonly unwatch: () => void;
  /** Observer that waits until the race is visible. */
  private seen: IntersectionObserver | null = null;

  /** `moved(ns)` is called when the clock changes; `still()`: reduced motion is preferred. */
  constructor(
    private readonly runs: readonly Runner[],
    private readonly palette: Palette,
    private readonly moved: (ns: number) => void,
    private readonly still: () => boolean,
  ) {
    const goal = goalOf(runs);
    const end = Math.max(...runs.map(({ stairs }) => crossingOf(stairs, goal)));
    this.clock = { ns: end, end, isPlaying: false, speed: fitSpeed(end) };
    this.plot.addEventListener("pointerdown", (event) => this.drag(event));
    this.plot.addEventListener("pointermove", (event) => this.drag(event));
    this.paint();
    this.unwatch = onResize(this.plot, () => this.paint());
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.seen?.disconnect();
    this.unwatch();
  }

  /** Play once when the race is first visible, unless reduced motion is preferred. */
  playOnce() {
    if (this.still()) return;
    this.set(0);
    const play = ([entry]: { isIntersecting: boolean }[]) => {
      if (entry.isIntersecting) this.toggle();
    };
    this.seen = new IntersectionObserver(play, { threshold: SEEN });
    this.seen.observe(this.plot);
  }

  /** Set the clock; `play`: continue playing. */
  set(ns: number, play = false) {
    const { clock } = this;
    cancelAnimationFrame(this.frame);
    this.seen?.disconnect();
    clock.ns = Math.max(0, Math.min(clock.end, ns));
    clock.isPlaying = play && clock.ns < clock.end;
    // After the race, show longer texts completely.
    this.moved(clock.ns < clock.end ? clock.ns : Infinity);
    this.paint();
    if (clock.isPlaying) this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  toggle() {
    const { ns, end, isPlaying } = this.clock;
    const isStill = this.still();
    this.before = performance.now();
    this.set(ns >= end && !isStill ? 0 : ns, !isStill && !isPlaying);
  }

  private tick(now: number) {
    const passed = now - this.before;
    this.before = now;
    this.set(this.clock.ns + passed * 1e6 * Number(this.clock.speed), true);
  }

  private drag(event: PointerEvent) {
    const { plot } = this;
    if (event.type === "pointerdown") plot.setPointerCapture(event.pointerId);
    if (!plot.hasPointerCapture(event.pointerId)) return;
    this.set(this.scale().valueAt(event.clientX - plot.getBoundingClientRect().left));
  }

  private scale(): Frame {
    return frameFor(this.runs, this.clock.end, this.plot.clientWidth);
  }

  private readonly actions: RaceActions = {
    toggle: () => this.toggle(),
    seek: (ns) => this.set(ns),
    setSpeed: (speed) => {
      this.clock.speed = speed;
    },
  };

  paint() {
    const { runs, clock, plot } = this;
    const words = stateAt(runs, clock.ns);
    render(picture(runs, this.palette, this.scale(), clock.ns), plot);
    const prefill = runs.map(({ letter, store }) => `${letter} ${duration(store.meta.prefill_ns)}`);
    const goal = goalOf(runs);
    const [first] = runs;
    render(
      html`<h3>Race to ${plural(goal, "token")}</h3>
        <ol class="hsd-vs-runs">
          ${runs.map((run) => runnerTemplate(run, { first, goal, ns: clock.ns }, this.palette))}
        </ol>
        ${plot} ${controls(clock, words, this.actions, this.still())}
        <p class="hsd-vs-state">${words}</p>
        <p class="hsd-note">
          A step is one pass of the model: as wide as its time, as high as its tokens.
          Times without prefill (${prefill.join(", ")}).
        </p>`,
      this.root,
    );
  }
}
