// Templates of the texts and controls of a race: a line per run, and the controls of the clock.
import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { menu } from "../lib/fields";
import type { Palette } from "../lib/palette";
import { drafterOf, isOverDatabases } from "../lib/stack";
import { intervalText, timesText } from "../lib/suites";
import { duration, plural } from "../lib/words";
import { crossingOf, passesAt, type Runner, SPEEDS, shownAt } from "./race_time";

/** Number of steps of the slider. */
const STEPS = 1000;

/** The clock of a race: its time, and the state of the playback. */
export interface Clock {
  ns: number;
  end: number;
  isPlaying: boolean;
  /** One of {@link SPEEDS}. */
  speed: string;
}
const isRunning = ({ ns, end }: Clock) => ns > 0 && ns < end;

/** Describe a run: its time to the finish and its gain over the first, or its tokens so far. */
function countText({ stairs }: Runner, first: Runner, goal: number, ns: number) {
  const at = crossingOf(stairs, goal);
  if (ns < at) {
    const figure = `${shownAt(stairs, ns)} of ${goal}`;
    return { figure, times: "", passes: passesAt(stairs, ns) };
  }
  const gain = (crossingOf(first.stairs, goal) / at).toFixed(2);
  const times = stairs === first.stairs ? "" : `${gain} × ${first.letter}`;
  return { figure: duration(at), times, passes: passesAt(stairs, at) };
}

/**
 * The colour of a stack: of what drafts for its target; databases below draft models have that of
 * their kind in reports.
 */
export const familyOf = (stack: string, palette: Palette) =>
  isOverDatabases(stack) ? "both" : palette.family(drafterOf(stack));
/** The letter of a run in its colour. */
export const letterTemplate = ({ letter, title, store }: Runner, palette: Palette) =>
  html`<b class="hsd-vs-letter" title=${title} data-family=${familyOf(store.meta.stack, palette)}
    >${letter}</b
  >`;

/** The line of a run: figures of the same tokens, and what its stack brings on many prompts. */
export function runnerTemplate(
  run: Runner,
  { first, goal, ns }: { first: Runner; goal: number; ns: number },
  palette: Palette,
) {
  const { title, store, suite } = run;
  const { figure, times, passes } = countText(run, first, goal, ns);
  return html`<li>
    ${letterTemplate(run, palette)}<span class="hsd-vs-who"
      ><strong>${title}</strong> <code>${store.meta.stack}</code></span
    ><span class="hsd-vs-count"
      ><strong>${figure}</strong> <strong>${times}</strong>
      <span>${plural(passes, "pass")}</span></span
    >${
      suite
        ? html`<span class="hsd-vs-usual" title=${plural(suite.prompts, "prompt")}
            >usually <strong>${timesText(suite)}</strong> ${intervalText(suite)}</span
          >`
        : nothing
    }
  </li>`;
}

/** Actions of the visitor. */
export interface RaceActions {
  toggle(): void;
  seek(ns: number): void;
  setSpeed(speed: string): void;
}

/** The button, the time and the speed; `isStill`: reduced motion is preferred. */
export function controls(clock: Clock, words: string, actions: RaceActions, isStill: boolean) {
  const { ns, end, isPlaying, speed } = clock;
  const again = ns >= end ? "▶ Play again" : "▶ Start the race";
  const start = isRunning(clock) ? "Resume" : again;
  const seek = ({ target }: { target: HTMLInputElement }) =>
    actions.seek((Number(target.value) / STEPS) * end);
  return html`<div class="hsd-vs-controls">
    <button class="hsd-vs-play hsd-primary" ?hidden=${isStill} @click=${actions.toggle}>
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
    ${menu(SPEEDS, speed, actions.setSpeed, { label: "Speed of the race", hidden: isStill })}
  </div>`;
}
