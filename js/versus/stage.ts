// The race: the staircases of all runs on one clock, to play or drag, and a line for each run.
import { html, render, svg } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { make } from "../lib/dom";
import { metricsOf } from "../lib/metrics";
import type { Palette } from "../lib/palette";
import { duration, plural } from "../lib/words";
import { paths, ticks } from "../staircase/stairs";
import { fitSpeed, type Runner, SPEEDS, shownAt, stateAt } from "./race";

const SIZE = { height: 260, left: 36, right: 22, top: 12, bottom: 24 };

/** `moved(ns)` is called with the clock; `still()`: no motion is wanted. */
export function stageOf(runs: Runner[], palette: Palette, moved: (ns: number) => void, still: () => boolean) {
  const root = make("section", "hsd-vs-race");
  root.setAttribute("aria-label", "Race");
  const plot = make("div", "hsd-vs-plot");
  const end = Math.max(...runs.map((r) => r.stairs.end));
  const most = Math.max(...runs.map((r) => r.stairs.tokens));
  const facts = runs.map(({ store }) => metricsOf(store));
  let [t, playing, speed, frame, before] = [end, false, fitSpeed(end), 0, 0];

  function set(ns: number, play = false) {
    t = Math.max(0, Math.min(end, ns));
    playing = play && t < end;
    moved(t);
    paint();
  }
  function tick(now: number) {
    set(t + (now - before) * 1e6 * Number(speed), true);
    before = now;
    if (playing) frame = requestAnimationFrame(tick);
  }
  function toggle() {
    cancelAnimationFrame(frame);
    if (still() || playing) return set(t);
    set(t >= end ? 0 : t, true);
    before = performance.now();
    frame = requestAnimationFrame(tick);
  }
  const width = () => Math.max(260, plot.clientWidth || 640);
  const drag = (e: PointerEvent) => {
    if (e.type === "pointerdown") plot.setPointerCapture(e.pointerId);
    if (!plot.hasPointerCapture(e.pointerId)) return;
    cancelAnimationFrame(frame);
    const at = e.clientX - plot.getBoundingClientRect().left - SIZE.left;
    set((at / (width() - SIZE.left - SIZE.right)) * end);
  };
  plot.addEventListener("pointerdown", drag);
  plot.addEventListener("pointermove", drag);

  function drawing() {
    const x = (ns: number) => SIZE.left + (ns / end) * (width() - SIZE.left - SIZE.right);
    const y = (n: number) => SIZE.height - SIZE.bottom - (n / most) * (SIZE.height - SIZE.top - SIZE.bottom);
    const foot = SIZE.height - SIZE.bottom;
    // Letters at the ends, one below the other where two would touch.
    const ends = runs.map((r) => ({ r, x: x(r.stairs.end) + 9, y: y(r.stairs.tokens) + 4 })).sort((a, b) => a.x - b.x);
    ends.forEach((e, k) => {
      const near = ends.slice(0, k).filter((o) => Math.abs(o.x - e.x) < 16 && Math.abs(o.y - e.y) < 16);
      if (near.length) e.y = Math.max(...near.map((o) => o.y)) + 16;
    });
    const stairs = (r: Runner) => {
      const { line, risers } = paths(r.stairs, r.store.tokens, palette.family, { x, y });
      return svg`<path class="hsd-stairs-treads" d=${line}></path>${[...risers].map(
        ([family, d]) => svg`<path class="hsd-stairs-riser" data-family=${family} d=${d}></path>`,
      )}`;
    };
    return svg`<svg class="hsd-stairs" width=${width()} height=${SIZE.height} viewBox="0 0 ${width()} ${SIZE.height}" aria-hidden="true">
      ${ticks(most, 5).map(
        (
          n,
        ) => svg`<line class="hsd-stairs-grid" x1=${SIZE.left} x2=${width() - SIZE.right} y1=${y(n)} y2=${y(n)}></line>
          <text class="hsd-stairs-tick" x=${SIZE.left - 7} y=${y(n) + 4} text-anchor="end">${n}</text>`,
      )}
      ${ticks(end, width() / 120).map(
        (ns) =>
          svg`<text class="hsd-stairs-tick" x=${x(ns)} y=${foot + 16} text-anchor=${
            ns ? (x(ns) > width() - 50 ? "end" : "middle") : "start"
          }>${ns ? duration(ns) : "0"}</text>`,
      )}
      ${runs.map(stairs)}
      <rect class="hsd-stairs-later" x=${x(t)} y="0" width=${Math.max(0, width() - x(t))} height=${foot}></rect>
      ${ends.filter(({ r }) => r.stairs.end <= t).map(({ r, ...at }) => svg`<text class="hsd-stairs-title" x=${at.x} y=${at.y} text-anchor="middle">${r.letter}</text>`)}
      <line class="hsd-vs-now" x1=${x(t)} x2=${x(t)} y1=${SIZE.top} y2=${foot}></line>
    </svg>`;
  }
  function paint() {
    const words = stateAt(runs, t);
    render(drawing(), plot);
    const slide = (e: { target: HTMLInputElement }) => {
      cancelAnimationFrame(frame);
      set((Number(e.target.value) / 1000) * end);
    };
    const row = (r: Runner, k: number) => {
      const m = facts[k];
      const done = r.stairs.end <= t;
      const passes = r.stairs.treads.filter((tread) => tread.to <= t).length;
      return html`<li><b class="hsd-vs-letter">${r.letter}</b><span class="hsd-vs-who"><strong>${r.title || r.store.meta.stack}</strong>${
        r.title ? html` <code>${r.store.meta.stack}</code>` : ""
      }</span><span class="hsd-vs-count">${
        done
          ? html`<strong>${m.tokens_per_second?.toFixed(0) ?? "–"} tokens/s</strong> ${plural(m.tokens, "token")} in ${duration(r.stairs.end)}, ${plural(passes, "pass")}`
          : html`<strong>${shownAt(r.stairs, t)} of ${m.tokens}</strong> ${plural(passes, "pass")}`
      }</span></li>`;
    };
    render(
      html`<h3>Race</h3>${plot}
        <div class="hsd-vs-controls">
          <button class="hsd-vs-play" ?hidden=${still()} @click=${toggle}>${playing ? "Pause" : t > 0 && t < end ? "Resume" : "Start the race"}</button>
          <input type="range" min="0" max="1000" step="1" aria-label="Time of the race" aria-valuetext="${duration(t)}: ${words}"
            .value=${live(String(Math.round((1000 * t) / end)))} @input=${slide}>
          <output>${(t / 1e6).toFixed(1)} ms</output>
          <select aria-label="Speed of the race" ?hidden=${still()} @change=${(e: { target: HTMLSelectElement }) => {
            speed = e.target.value;
          }}>${SPEEDS.map(([value, text]) => html`<option value=${value} .selected=${value === speed}>${text}</option>`)}</select>
        </div>
        <ol class="hsd-vs-runs">${runs.map(row)}</ol>
        <p class="hsd-vs-state">${words}</p>
        <p class="hsd-vs-hint">Recorded times, without prefill (${runs.map((r) => `${r.letter} ${duration(r.store.meta.prefill_ns)}`).join(", ")}). A tread is what a round cost, a riser what it brought.</p>`,
      root,
    );
  }
  paint();
  let shown = 0;
  const resized = new ResizeObserver(() => {
    if (plot.clientWidth !== shown) paint();
    shown = plot.clientWidth;
  });
  resized.observe(plot);
  return {
    root,
    toggle,
    set,
    again: paint,
    close() {
      cancelAnimationFrame(frame);
      resized.disconnect();
    },
  };
}
