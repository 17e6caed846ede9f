// The race: one lane per run, on one clock.

import { draw, make } from "../lib/dom";
import { failInto } from "../lib/notice";
import type { Palette } from "../lib/palette";
import { duration, plural } from "../lib/words";
import type { Run } from "./race";
import { fitSpeed, runAt, SPEEDS, standing } from "./race";
import type { RaceState } from "./state";

const LANE = 22;

/** The label of a run: letter, description and stack. */
export function nameOf(run: Run) {
  const node = make("span", "hsd-vs-name");
  const text = make("span", "hsd-vs-name-text");
  text.append(make("span", "hsd-vs-title", run.title || run.stack));
  if (run.title) text.append(make("code", "hsd-vs-stack", run.stack));
  node.append(make("b", "hsd-vs-letter", run.letter), text);
  return node;
}

/** The race: one lane per run, and a clock to play or drag. */
export function raceOf(state: RaceState, palette: Palette, still: () => boolean) {
  const { runs } = state;
  const root = make("section", "hsd-vs-race");
  root.setAttribute("aria-label", "Race");
  const field = make("div", "hsd-vs-lanes");
  root.append(make("h3", "", "Race"), field);
  const lanes = runs.map((run) => {
    const track = make("div", "hsd-vs-track");
    const box = draw("svg", {
      viewBox: `0 0 ${state.longest} ${LANE}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    const paths = new Map<string, string>();
    run.tokens.forEach((t, k) => {
      const family = palette.family(t.source);
      paths.set(family, `${paths.get(family) || ""}M${k} 0h1v${LANE}h-1z`);
    });
    for (const [family, d] of paths) box.append(draw("path", { d, class: "hsd-vs-fill", "data-family": family }));
    box.append(draw("path", { d: run.rounds.map((r) => `M${r.first} 0V${LANE}`).join(""), class: "hsd-vs-seams" }));
    const later = make("div", "hsd-vs-later");
    const air = make("div", "hsd-vs-air");
    const part = make("span");
    air.append(part);
    const here = make("div", "hsd-vs-here");
    const finish = make("div", "hsd-vs-finish");
    finish.style.left = `${(100 * run.tokens.length) / state.longest}%`;
    track.append(box, later, air, here, finish);
    const count = make("span", "hsd-vs-count");
    const note = make("span", "hsd-vs-note");
    const score = make("div", "hsd-vs-lane-score");
    score.append(count, note);
    const lane = make("div", "hsd-vs-lane");
    lane.append(nameOf(run), track, score);
    field.append(lane);
    const under = (e: PointerEvent | MouseEvent) => {
      const b = track.getBoundingClientRect();
      return Math.max(0, Math.min(state.longest - 1, Math.floor(((e.clientX - b.left) / b.width) * state.longest)));
    };
    const row = runs.indexOf(run);
    track.addEventListener("pointermove", (e) => {
      if (e.pointerType === "mouse") state.look(under(e), row);
    });
    track.addEventListener("pointerleave", () => state.look(-1));
    track.addEventListener("click", (e) => state.keep(under(e), row));
    return { run, later, air, part, here, count, note, lane };
  });

  const controls = make("div", "hsd-vs-controls");
  const play = make("button", "hsd-vs-play");
  const slider = make("input", "hsd-vs-slider");
  Object.assign(slider, { type: "range", min: "0", max: "1000", step: "1" });
  slider.setAttribute("aria-label", "Time of the race");
  const clock = make("output", "hsd-vs-clock");
  const speed = make("select");
  speed.setAttribute("aria-label", "Speed of the race");
  for (const [value, words] of SPEEDS) {
    const option = make("option", "", words);
    option.value = value;
    speed.append(option);
  }
  speed.value = fitSpeed(state.end);
  const words = make("p", "hsd-vs-standing");
  const prefill = runs.map((r) => `${r.letter} ${duration(r.prefill_ns)}`).join(", ");
  const hint = make(
    "p",
    "hsd-vs-hint",
    `Recorded times from the end of prefill (excluded: ${prefill}). Outline: maximum reach of the round in progress.`,
  );
  controls.append(play, slider, clock, speed);
  root.append(controls, words, hint);

  let frame = 0;
  let before = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    state.set(state.t, false);
  };
  function tick(now: number) {
    const t = state.t + (now - before) * 1e6 * Number(speed.value);
    before = now;
    state.set(t, t < state.end);
    if (state.playing) frame = requestAnimationFrame(tick);
  }
  const toggle = () => {
    if (still()) return;
    if (state.playing) {
      stop();
      return;
    }
    state.set(state.t >= state.end ? 0 : state.t, true);
    before = performance.now();
    frame = requestAnimationFrame(tick);
  };
  play.addEventListener("click", toggle);
  slider.addEventListener("input", () => {
    cancelAnimationFrame(frame);
    state.set((Number(slider.value) / 1000) * state.end, false);
  });

  function paint() {
    play.hidden = speed.hidden = still();
    play.textContent = state.playing ? "Pause" : state.t > 0 && state.t < state.end ? "Resume" : "Start the race";
    slider.value = String(Math.round((1000 * state.t) / state.end));
    clock.textContent = `${(state.t / 1e6).toFixed(1)} ms`;
    const sentence = standing(runs, state.t);
    words.textContent = sentence;
    slider.setAttribute("aria-valuetext", `${clock.textContent}: ${sentence}`);
    for (const { run, later, air, part, count, note, lane } of lanes) {
      const now = runAt(run, state.t);
      const share = (n: number) => `${(100 * n) / state.longest}%`;
      later.style.left = share(now.shown);
      air.hidden = now.reach === 0;
      air.style.left = share(now.shown);
      air.style.width = share(Math.min(now.reach, run.tokens.length - now.shown));
      part.style.width = `${100 * now.part}%`;
      lane.classList.toggle("hsd-vs-done", now.done);
      count.textContent =
        now.done && run.tokens_per_second
          ? `${run.tokens_per_second.toFixed(0)} tokens/s`
          : `${now.shown} of ${run.tokens.length}`;
      note.textContent = now.done
        ? `${plural(run.tokens.length, "token")} in ${duration(run.end)}`
        : plural(now.forwards, "target forward pass");
    }
  }
  function mark() {
    for (const { here } of lanes) {
      here.hidden = !state.chosen;
      here.style.left = `${(100 * (state.at + 0.5)) / state.longest}%`;
    }
  }
  state.listeners.add((what) => (what === "clock" ? paint() : mark()), failInto(root));
  paint();
  mark();
  return { root, toggle, end: () => cancelAnimationFrame(frame) };
}
