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

type Racing = Pick<Runner, "letter" | "stairs">;

/** The tokens at which a race ends: those of the shortest text, which every run has. */
export const goalOf = (runs: readonly Racing[]): number =>
  Math.min(...runs.map(({ stairs }) => stairs.tokens));
/** When a run has as many tokens as this: the end of the round that brings them. */
export function crossingOf({ treads, tokens, end }: Stairs, goal: number): number {
  if (goal >= tokens) return end;
  return treads.find(({ high }) => high >= goal)?.to ?? end;
}

/** The state of the race at a time, as text. */
export function stateAt(runs: readonly Racing[], ns: number) {
  const goal = goalOf(runs);
  const crossed = runs.map(({ letter, stairs }) => ({ letter, at: crossingOf(stairs, goal) }));
  const running = runs.filter(({ stairs }) => crossingOf(stairs, goal) > ns);
  if (!running.length) {
    const [first, ...others] = crossed.toSorted((a, b) => a.at - b.at);
    const later = others.map(({ letter, at }) => `${letter} ${duration(at)}`);
    return `${first.letter} finished first: ${duration(first.at)}; ${listed(later)}.`;
  }
  const has = running.map(
    ({ letter, stairs }) => `${letter} has ${shownAt(stairs, ns)} of ${goal} tokens`,
  );
  const done = crossed.filter(({ at }) => at <= ns).map(({ letter }) => letter);
  return `${done.length ? `${listed(done)} finished; ` : ""}${listed(has)}.`;
}

/** `top`: above the finish are labels, and lines of longer texts. */
const SIZE = { height: 290, left: 36, right: 26, top: 62, bottom: 24 };
/** The share of the picture that is in view when a race is seen. */
const SEEN = 0.6;
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

/** The frame of a race's picture, as high as the finish. */
function frameFor(runs: readonly Runner[], end: number, room: number): Frame {
  return frameOf({ ...SIZE, width: Math.max(WIDTH.least, room) }, end, goalOf(runs));
}

/** The label of a run where it crosses the finish: its middle, and its row above that line. */
interface Crossing {
  letter: string;
  words: string;
  at: number;
  x: number;
  row: number;
}
/** Half of a letter's width, and pixels between two labels of a row. */
const HALF_LETTER = 4.2;
const APART = 10;

/** Where runs cross the finish, with labels that do not touch. */
export function crossingsOf(
  runs: readonly Racing[],
  f: Pick<Frame, "x" | "left" | "width">,
): Crossing[] {
  const goal = goalOf(runs);
  const all = runs.map(({ letter, stairs }) => ({ letter, at: crossingOf(stairs, goal) }));
  const ends: number[] = [];
  return all
    .toSorted((a, b) => a.at - b.at)
    .map(({ letter, at }) => {
      const words = duration(at);
      const half = HALF_LETTER * (letter.length + 1 + words.length);
      const x = Math.max(f.left + half, Math.min(f.width - 2 - half, f.x(at)));
      const free = ends.findIndex((end) => x - half > end + APART);
      const row = free < 0 ? ends.length : free;
      ends[row] = x + half;
      return { letter, words, at, x, row };
    });
}

/** The finish: its line, and when runs cross it. */
function finish(runs: readonly Runner[], f: Frame, ns: number) {
  const y = f.top;
  const crossed = crossingsOf(runs, f).filter(({ at }) => at <= ns);
  const tokens = plural(f.mostY, "token");
  return svg`<line class="hsd-vs-finish" x1=${f.left} x2=${f.width} y1=${y} y2=${y}></line>
    <text class="hsd-stairs-note" x=${f.left + 14} y=${y + 16}>finish: ${tokens}</text>
    ${crossed.map(
      ({ letter, words, at, x, row }) => svg`<circle class="hsd-stairs-end" cx=${f.x(at)} cy=${y}
        r="4"></circle><text class="hsd-stairs-title" x=${x} y=${y - 10 - 16 * row}
        text-anchor="middle">${letter} ${words}</text>`,
    )}`;
}

/** Pixels of the letter at a run's head, and between the clock and it. */
const BADGE = 16;
const BESIDE = 7;

/** A run that is not at the finish yet: the middle of its letter, and its tokens. */
interface Head {
  letter: string;
  x: number;
  y: number;
  tokens: number;
}
/** The letters of runs on their way, beside the clock; higher where two would touch. */
export function headsOf(
  runs: readonly Racing[],
  f: Pick<Frame, "x" | "y" | "width">,
  ns: number,
): Head[] {
  const goal = goalOf(runs);
  const running = runs.filter(({ stairs }) => crossingOf(stairs, goal) > ns);
  if (ns <= 0) return [];
  const x = Math.min(f.x(ns) + BESIDE + BADGE / 2, f.width - BADGE / 2);
  const upwards = running.map(({ letter, stairs }) => {
    const tokens = shownAt(stairs, ns);
    return { letter, x, y: -f.y(tokens), tokens };
  });
  return spread(upwards, BADGE + 2).map((head) => ({ ...head, y: -head.y }));
}
function headTemplate({ letter, x, y, tokens }: Head, f: Frame, ns: number) {
  return svg`<circle class="hsd-stairs-end" cx=${f.x(ns)} cy=${f.y(tokens)} r="3.5"></circle>
    <g class="hsd-vs-head"><rect x=${x - BADGE / 2} y=${y - BADGE / 2} width=${BADGE}
      height=${BADGE} rx="3"></rect><text x=${x} y=${y + 4} text-anchor="middle"
      >${letter}</text></g>`;
}

/** The staircases, faint beyond the finish, and the clock. */
function picture(runs: readonly Runner[], palette: Palette, f: Frame, ns: number) {
  const now = f.x(ns);
  return svg`<svg class="hsd-stairs" width=${f.width} height=${f.height}
    viewBox="0 0 ${f.width} ${f.height}" aria-hidden="true">
    ${axisY(f, 5, String, "tokens")}${axisX(f, f.width / 120, duration, "time")}
    ${runs.map((run) => drawStairs(run.stairs, run.store.tokens, palette.family, f))}
    <rect class="hsd-vs-beyond" x=${f.left + 12} y="0" width=${f.width} height=${f.top - 1}></rect>
    <rect class="hsd-stairs-later" x=${now} y="0" width=${Math.max(0, f.width - now)}
      height=${f.foot}></rect>
    ${finish(runs, f, ns)}
    <line class="hsd-vs-now" x1=${now} x2=${now} y1=${f.top} y2=${f.foot}></line>
    ${headsOf(runs, f, ns).map((head) => headTemplate(head, f, ns))}</svg>`;
}

/** What a run took to the finish, and for all of a longer text; its tokens before. */
function countWords({ stairs }: Runner, goal: number, ns: number) {
  const at = crossingOf(stairs, goal);
  if (ns < at)
    return {
      figure: `${shownAt(stairs, ns)} of ${goal}`,
      more: plural(passesAt(stairs, ns), "pass"),
    };
  const { tokens, end } = stairs;
  const longer = tokens > goal ? `; all ${tokens} tokens in ${duration(end)}` : "";
  return { figure: duration(at), more: `${plural(passesAt(stairs, at), "pass")}${longer}` };
}

/** The line of a run. */
function runnerTemplate(run: Runner, goal: number, ns: number) {
  const { letter, title, store } = run;
  const { figure, more } = countWords(run, goal, ns);
  return html`<li>
    <b class="hsd-vs-letter">${letter}</b
    ><span class="hsd-vs-who"
      ><strong>${title}</strong>${
        title === store.meta.stack ? "" : html` <code>${store.meta.stack}</code>`
      }</span
    ><span class="hsd-vs-count"><strong>${figure}</strong> <span>${more}</span></span>
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
  const again = ns >= end ? "▶ Play again" : "▶ Start the race";
  const start = isRunning(clock) ? "Resume" : again;
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
  private readonly clock: Clock;
  private frame = 0;
  /** The time of the last frame. */
  private before = 0;
  private readonly unwatch: () => void;
  /** Waits until the race is seen. */
  private seen: IntersectionObserver | null = null;

  /** `moved(ns)` is called with the clock; `still()`: no motion is wanted. */
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

  /** Go to the start, and play once when the race is first seen; unless no motion is wanted. */
  playOnce() {
    if (this.still()) return;
    this.set(0);
    const play = ([entry]: { isIntersecting: boolean }[]) => {
      if (entry.isIntersecting) this.toggle();
    };
    this.seen = new IntersectionObserver(play, { threshold: SEEN });
    this.seen.observe(this.plot);
  }

  /** Set the clock; `play`: continue from there. */
  set(ns: number, play = false) {
    const { clock } = this;
    cancelAnimationFrame(this.frame);
    this.seen?.disconnect();
    clock.ns = Math.max(0, Math.min(clock.end, ns));
    clock.isPlaying = play && clock.ns < clock.end;
    // All of a longer text is shown when the race is over.
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
    const goal = goalOf(runs);
    render(
      html`<h3>Race to ${plural(goal, "token")}</h3>
        <ol class="hsd-vs-runs">
          ${runs.map((run) => runnerTemplate(run, goal, clock.ns))}
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
