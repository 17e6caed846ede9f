// The race: the staircases of all runs on one clock, to play or drag, and a line for each run.
import { html, render, svg } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { axisX, axisY, frameOf, onResize, spread } from "../lib/chart";
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

/** The state of the race at a time, as text. */
export function stateAt(runs: Pick<Runner, "letter" | "stairs">[], ns: number) {
  const finished = runs.filter((run) => run.stairs.end <= ns);
  const running = runs.filter((run) => run.stairs.end > ns);
  if (!running.length) {
    const [first, ...others] = finished.sort((a, b) => a.stairs.end - b.stairs.end);
    const later = others.map(
      (r) => `${r.letter} ${duration(r.stairs.end - first.stairs.end)} later`,
    );
    return `${first.letter} finished first, after ${duration(first.stairs.end)}; ${listed(later)}.`;
  }
  const has = running.map(
    (r) => `${r.letter} has ${shownAt(r.stairs, ns)} of ${r.stairs.tokens} tokens`,
  );
  const over = finished.length ? `${listed(finished.map((r) => r.letter))} finished; ` : "";
  return `${over}${listed(has)}.`;
}

const SIZE = { height: 270, left: 36, right: 22, top: 22, bottom: 24 };

/** `moved(ns)` is called with the clock; `still()`: no motion is wanted. */
export function raceOf(
  runs: Runner[],
  palette: Palette,
  moved: (ns: number) => void,
  still: () => boolean,
) {
  const root = make("div", "hsd-vs-race", "", { role: "group", "aria-label": "Race" });
  const plot = make("div", "hsd-vs-plot");
  const end = Math.max(...runs.map((r) => r.stairs.end));
  const most = Math.max(...runs.map((r) => r.stairs.tokens));
  const speeds = tableOf(runs.map((r) => r.store))[0].cells;
  let t = end;
  let playing = false;
  let speed = fitSpeed(end);
  let timer = 0;
  let before = 0;

  function set(ns: number, play = false) {
    cancelAnimationFrame(timer);
    t = Math.max(0, Math.min(end, ns));
    playing = play && t < end;
    moved(t);
    paint();
    if (playing) timer = requestAnimationFrame(tick);
  }
  function tick(now: number) {
    const passed = now - before;
    before = now;
    set(t + passed * 1e6 * Number(speed), true);
  }
  function toggle() {
    before = performance.now();
    set(t >= end && !still() ? 0 : t, !still() && !playing);
  }
  const frame = () =>
    frameOf({ ...SIZE, width: Math.max(260, plot.clientWidth || 640) }, end, most);
  const drag = (e: PointerEvent) => {
    if (e.type === "pointerdown") plot.setPointerCapture(e.pointerId);
    if (plot.hasPointerCapture(e.pointerId))
      set(frame().valueAt(e.clientX - plot.getBoundingClientRect().left));
  };
  plot.addEventListener("pointerdown", drag);
  plot.addEventListener("pointermove", drag);

  function drawing() {
    const f = frame();
    const ends = runs.map((run) => ({
      ...run,
      x: f.x(run.stairs.end) + 9,
      y: f.y(run.stairs.tokens) + 4,
    }));
    const letters = spread(ends, 16, 16).filter(({ stairs }) => stairs.end <= t);
    return svg`<svg class="hsd-stairs" width=${f.width} height=${f.height}
      viewBox="0 0 ${f.width} ${f.height}" aria-hidden="true">
      ${axisY(f, 5, String, "tokens")}${axisX(f, f.width / 120, duration, "time")}
      ${runs.map((r) => drawStairs(r.stairs, r.store.tokens, palette.family, f))}
      <rect class="hsd-stairs-later" x=${f.x(t)} y="0" width=${Math.max(0, f.width - f.x(t))}
        height=${f.foot}></rect>
      ${letters.map(
        ({ letter, x, y }) => svg`<text class="hsd-stairs-title" x=${x} y=${y}
        text-anchor="middle">${letter}</text>`,
      )}
      <line class="hsd-vs-now" x1=${f.x(t)} x2=${f.x(t)} y1=${f.top} y2=${f.foot}></line></svg>`;
  }
  function paint() {
    const words = stateAt(runs, t);
    render(drawing(), plot);
    const row = ({ letter, title, store, stairs }: Runner, k: number) => {
      const passes = plural(passesAt(stairs, t), "pass");
      const done = stairs.end <= t;
      const { value, difference } = done
        ? speeds[k]
        : { value: `${shownAt(stairs, t)} of ${stairs.tokens}`, difference: "" };
      const spent = done
        ? `${plural(stairs.tokens, "token")} in ${duration(stairs.end)}, ${passes}`
        : passes;
      return html`<li>
        <b class="hsd-vs-letter">${letter}</b
        ><span class="hsd-vs-who"
          ><strong>${title}</strong>${
            title === store.meta.stack ? "" : html` <code>${store.meta.stack}</code>`
          }</span
        ><span class="hsd-vs-count"
          ><strong>${value}</strong> <strong>${difference}</strong> <span>${spent}</span></span
        >
      </li>`;
    };
    const seek = (e: { target: HTMLInputElement }) => set((Number(e.target.value) / 1000) * end);
    const slow = { label: "Speed of the race", hidden: still() };
    const prefill = runs.map((r) => `${r.letter} ${duration(r.store.meta.prefill_ns)}`).join(", ");
    render(
      html`<h3>Race</h3>
        <ol class="hsd-vs-runs">
          ${runs.map(row)}
        </ol>
        ${plot}
        <div class="hsd-vs-controls">
          <button class="hsd-vs-play hsd-primary" ?hidden=${still()} @click=${toggle}>
            ${playing ? "Pause" : t > 0 && t < end ? "Resume" : "Start the race"}
          </button>
          <input
            type="range"
            min="0"
            max="1000"
            step="1"
            aria-label="Time of the race"
            aria-valuetext="${duration(t)}: ${words}"
            .value=${live(String(Math.round((1000 * t) / end)))}
            @input=${seek}
          />
          <output>${(t / 1e6).toFixed(1)} ms</output>
          ${menu(SPEEDS, speed, (value) => void (speed = value), slow)}
        </div>
        <p class="hsd-vs-state">${words}</p>
        <p class="hsd-note">
          Recorded times, without prefill (${prefill}). A tread is what a round cost, a riser what
          it brought.
        </p>`,
      root,
    );
  }
  paint();
  const unwatch = onResize(plot, paint);
  return {
    root,
    toggle,
    set,
    again: paint,
    close() {
      cancelAnimationFrame(timer);
      unwatch();
    },
  };
}
