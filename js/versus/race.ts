// The race: the staircases of all runs on one clock, to play or drag, and a line for each run.
import { html, render, svg } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { axisX, axisY, type Frame, frameOf, onResize, spread } from "../lib/chart";
import { make } from "../lib/dom";
import { menu } from "../lib/fields";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { duration, listed, plural } from "../lib/words";
import { drawStairs } from "../staircase/drawing";
import { type Stairs, stairsOf } from "../staircase/stairs";
import { tableOf } from "./compare";

/** A compared run on the common clock: ns from its first round's start. */
export interface Runner {
  letter: string;
  /** A description of the stack; "": unknown. */
  title: string;
  store: Store;
  stairs: Stairs;
}
export const runnerOf = (store: Store, title: string): Runner => ({
  letter: store.letter,
  title: title || store.meta.stack,
  store,
  stairs: stairsOf(store),
});

const SPEEDS = [
  ["1", "real time"],
  ["0.1", "1/10 speed"],
  ["0.01", "1/100 speed"],
];
/** The speed at which the race takes closest to eight seconds. */
export function fitSpeed(ns: number) {
  const off = (s: string) => Math.abs(Math.log(ns / 1e9 / Number(s) / 8));
  return SPEEDS.map(([s]) => s).reduce((a, b) => (off(b) < off(a) ? b : a));
}
/** Tokens at a time: those of a round appear when it ends. */
export const shownAt = ({ treads }: Stairs, ns: number) =>
  treads.findLast((t) => t.to <= ns)?.high ?? 0;
export const passesAt = ({ treads }: Stairs, ns: number) => treads.filter((t) => t.to <= ns).length;
/** Target passes and time up to output position `k`; null if the run has no such token. */
export function spentAt({ treads }: Stairs, k: number) {
  const at = treads.findIndex((t) => t.low <= k && k < t.high);
  return at < 0 ? null : { passes: at + 1, ns: treads[at].to };
}

const perToken = ({ end, tokens }: Stairs) => end / Math.max(1, tokens);
/** The times of a token, the least first, where texts of other lengths finish; else "". */
function perTokenWords(runs: readonly Pick<Runner, "letter" | "stairs">[]): string {
  if (new Set(runs.map(({ stairs }) => stairs.tokens)).size < 2) return "";
  const times = runs
    .toSorted((a, b) => perToken(a.stairs) - perToken(b.stairs))
    .map(({ letter, stairs }) => `${letter} ${duration(perToken(stairs))}`);
  return ` Their texts differ in length; per token: ${listed(times)}.`;
}
/** The state of the race at a time, as text. */
export function stateAt(runs: readonly Pick<Runner, "letter" | "stairs">[], ns: number) {
  const finished = runs.filter((run) => run.stairs.end <= ns);
  const running = runs.filter((run) => run.stairs.end > ns);
  if (!running.length) {
    const [first, ...others] = finished.sort((a, b) => a.stairs.end - b.stairs.end);
    const later = others.map(
      (r) => `${r.letter} ${duration(r.stairs.end - first.stairs.end)} later`,
    );
    const order = `${first.letter} finished first, after ${duration(first.stairs.end)}`;
    return `${order}; ${listed(later)}.${perTokenWords(runs)}`;
  }
  const has = running.map(
    (r) => `${r.letter} has ${shownAt(r.stairs, ns)} of ${r.stairs.tokens} tokens`,
  );
  const over = finished.length ? `${listed(finished.map((r) => r.letter))} finished; ` : "";
  return `${over}${listed(has)}.`;
}

const SIZE = { height: 270, left: 36, right: 22, top: 22, bottom: 24 };

/** A figure of a run, and its difference to the first run. */
type Cell = ReturnType<typeof tableOf>[number]["cells"][number];

/** Steps of the slider over the whole race. */
const STEPS = 1000;
/** The least width of the picture, and that of a page without one. */
const WIDTH = { least: 260, usual: 640 };

/** The time of a race, and how it is played. */
interface Clock {
  ns: number;
  end: number;
  isPlaying: boolean;
  /** One of {@link SPEEDS}. */
  speed: string;
}
const isRunning = ({ ns, end }: Clock) => ns > 0 && ns < end;

/** The frame of a race's picture. */
function frameFor(runs: readonly Runner[], end: number, room: number): Frame {
  const most = Math.max(...runs.map((run) => run.stairs.tokens));
  return frameOf({ ...SIZE, width: Math.max(WIDTH.least, room) }, end, most);
}

/** The staircases, their letters where they have ended, and the clock. */
function picture(runs: readonly Runner[], palette: Palette, f: Frame, ns: number) {
  const ends = runs.map((run) => ({
    ...run,
    x: f.x(run.stairs.end) + 9,
    y: f.y(run.stairs.tokens) + 4,
  }));
  const letters = spread(ends, 16, 16).filter(({ stairs }) => stairs.end <= ns);
  const now = f.x(ns);
  return svg`<svg class="hsd-stairs" width=${f.width} height=${f.height}
    viewBox="0 0 ${f.width} ${f.height}" aria-hidden="true">
    ${axisY(f, 5, String, "tokens")}${axisX(f, f.width / 120, duration, "time")}
    ${runs.map((run) => drawStairs(run.stairs, run.store.tokens, palette.family, f))}
    <rect class="hsd-stairs-later" x=${now} y="0" width=${Math.max(0, f.width - now)}
      height=${f.foot}></rect>
    ${letters.map(
      ({ letter, x, y }) => svg`<text class="hsd-stairs-title" x=${x} y=${y}
      text-anchor="middle">${letter}</text>`,
    )}
    <line class="hsd-vs-now" x1=${now} x2=${now} y1=${f.top} y2=${f.foot}></line></svg>`;
}

/** The line of a run: its speed once it has ended, its tokens before. */
function runnerTemplate({ letter, title, store, stairs }: Runner, speed: Cell, ns: number) {
  const isDone = stairs.end <= ns;
  const passes = plural(passesAt(stairs, ns), "pass");
  const value = isDone ? speed.value : `${shownAt(stairs, ns)} of ${stairs.tokens}`;
  const tokens = plural(stairs.tokens, "token");
  const each = `${duration(perToken(stairs))} per token`;
  return html`<li>
    <b class="hsd-vs-letter">${letter}</b
    ><span class="hsd-vs-who"
      ><strong>${title}</strong>${
        title === store.meta.stack ? "" : html` <code>${store.meta.stack}</code>`
      }</span
    ><span class="hsd-vs-count"
      ><strong>${value}</strong> <strong>${isDone ? speed.difference : ""}</strong>
      <span
        >${isDone ? `${tokens} in ${duration(stairs.end)}, ${passes}, ${each}` : passes}</span
      ></span
    >
  </li>`;
}

/** What the visitor does with a race. */
interface Acts {
  toggle(): void;
  seek(ns: number): void;
  setSpeed(speed: string): void;
}

/** The button, the time and the speed; `isStill`: no motion is wanted. */
function controls(clock: Clock, words: string, acts: Acts, isStill: boolean) {
  const { ns, end, isPlaying, speed } = clock;
  const start = isRunning(clock) ? "Resume" : "Start the race";
  const seek = ({ target }: { target: HTMLInputElement }) =>
    acts.seek((Number(target.value) / STEPS) * end);
  return html`<div class="hsd-vs-controls">
    <button class="hsd-vs-play hsd-primary" ?hidden=${isStill} @click=${acts.toggle}>
      ${isPlaying ? "Pause" : start}
    </button>
    <input
      type="range"
      min="0"
      max=${STEPS}
      step="1"
      aria-label="Time of the race"
      aria-valuetext="${duration(ns)}: ${words}"
      .value=${live(String(Math.round((STEPS * ns) / end)))}
      @input=${seek}
    />
    <output>${(ns / 1e6).toFixed(1)} ms</output>
    ${menu(SPEEDS, speed, acts.setSpeed, { label: "Speed of the race", hidden: isStill })}
  </div>`;
}

/** The race of some runs: its clock, and its elements. */
export class Race {
  readonly root = make("div", "hsd-vs-race", "", { role: "group", "aria-label": "Race" });
  private readonly plot = make("div", "hsd-vs-plot");
  /** The speeds of the runs, and their differences to the first one. */
  private readonly speeds: Cell[];
  private readonly clock: Clock;
  private frame = 0;
  /** The time of the last frame. */
  private before = 0;
  private readonly unwatch: () => void;

  /** `moved(ns)` is called with the clock; `still()`: no motion is wanted. */
  constructor(
    private readonly runs: readonly Runner[],
    private readonly palette: Palette,
    private readonly moved: (ns: number) => void,
    private readonly still: () => boolean,
  ) {
    const end = Math.max(...runs.map((run) => run.stairs.end));
    this.clock = { ns: end, end, isPlaying: false, speed: fitSpeed(end) };
    this.speeds = tableOf(runs.map((run) => run.store))[0].cells;
    this.plot.addEventListener("pointerdown", (event) => this.drag(event));
    this.plot.addEventListener("pointermove", (event) => this.drag(event));
    this.paint();
    this.unwatch = onResize(this.plot, () => this.paint());
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.unwatch();
  }

  /** Set the clock; `play`: continue from there. */
  set(ns: number, play = false) {
    const { clock } = this;
    cancelAnimationFrame(this.frame);
    clock.ns = Math.max(0, Math.min(clock.end, ns));
    clock.isPlaying = play && clock.ns < clock.end;
    this.moved(clock.ns);
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
    return frameFor(this.runs, this.clock.end, this.plot.clientWidth || WIDTH.usual);
  }

  private readonly acts: Acts = {
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
    render(
      html`<h3>Race</h3>
        <ol class="hsd-vs-runs">
          ${runs.map((run, k) => runnerTemplate(run, this.speeds[k], clock.ns))}
        </ol>
        ${plot} ${controls(clock, words, this.acts, this.still())}
        <p class="hsd-vs-state">${words}</p>
        <p class="hsd-note">
          Recorded times, without prefill (${prefill.join(", ")}). A tread is what a round cost, a
          riser what it brought.
        </p>`,
      this.root,
    );
  }
}
