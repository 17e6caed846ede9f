// The player: the staircase of the run (stairs.ts) as its scrub bar, and buttons to step and play.
import { html, nothing, render, svg } from "lit-html";
import { axisX, axisY, type Frame, frameOf } from "../lib/chart";
import { make, setAttributes } from "../lib/dom";
import { menu } from "../lib/fields";
import { linkedWidget, type View } from "../lib/linked";
import { repeatsItself } from "../lib/metrics";
import { duration, eventWords, plural } from "../lib/words";
import { drawRamp, drawStairs } from "./drawing";
import { stairsOf, stepAt, timeOf } from "./stairs";

const SPEEDS = [
  ["1", "1 event/s"],
  ["4", "4 events/s"],
  ["12", "12 events/s"],
  ["40", "40 events/s"],
  ["recorded", "as recorded"],
];
const [PLAY, PAUSE] = ["M5 3v14l12-7z", "M5 3h4v14H5zM11 3h4v14h-4z"];
const [BACK, ON] = ["M13 4v12L5 10z", "M7 4v12l8-6z"];
type Way = "round" | "token" | "move";
/** What the player steps by: its name, and its keys back and on. */
const UNITS: [way: Way, name: string, back: string, on: string][] = [
  ["round", "round", "Shift ←", "Shift →"],
  ["token", "token", ",", "."],
  ["move", "event", "←", "→"],
];
const MARGIN = { left: 40, right: 14, top: 30, bottom: 22 };
/** Pixels between two rows of labels. */
const LIFT = 27;

export function staircaseView({
  root,
  group,
  store,
  palette,
  follow,
  redrawn,
  resized,
}: View<object>) {
  root.classList.add("hsd-player");
  setAttributes(root, { role: "group", "aria-label": "Staircase and player" });
  const slider = {
    tabindex: 0,
    role: "slider",
    "aria-label": "Events of the run",
    "aria-valuemin": 1,
  };
  const bar = make("div", "hsd-player-bar", "", slider);
  const row = make("div", "hsd-player-row");
  root.append(make("h2", "hsd-heard", "Staircase of the run"), bar, row);
  // With reduced motion, start at one event per second.
  if (matchMedia("(prefers-reduced-motion: reduce)").matches && !group.cursor.playing)
    group.pace(1);

  let stairs = stairsOf(store);
  let frame: Frame = frameOf({ ...MARGIN, width: 0, height: 0 }, 1, 1);
  /** What does not change with the cursor. */
  let still: unknown = nothing;
  const time = (ns: number) => (stairs.timed ? duration(ns) : plural(Math.round(ns), "round"));

  function paint() {
    // The place of a run that has begun is kept: nothing below it moves when its first token comes.
    root.hidden = store.run === "";
    if (root.hidden) return;
    stairs = stairsOf(store);
    const size = { ...MARGIN, width: bar.clientWidth, height: bar.clientHeight };
    const fit = () =>
      frameOf(size, Math.max(stairs.end, stairs.plain ?? 0, 1), Math.max(1, stairs.tokens));
    frame = fit();
    const ends = stairs.tokens ? endsOf() : [];
    if (ends.some((end) => end.lift)) {
      size.top += LIFT;
      frame = fit();
    }
    const across = stairs.timed ? "time" : "rounds";
    const rows = Math.max(2, (frame.foot - frame.top) / 48);
    const columns = (frame.end - frame.left) / 110;
    still = svg`${axisY(frame, rows, String, "tokens")}${axisX(frame, columns, time, across)}
      ${stairs.plain === null ? nothing : drawRamp(frame, stairs.plain, stairs.tokens)}
      ${drawStairs(stairs, store.tokens, palette.family, frame)}${ends.map(label)}`;
    paintCursor();
  }
  /** The ends of the staircase and of the ramp, with what they took. */
  function endsOf() {
    const { gain: own } = stairs;
    // A caveat belongs beside its number.
    const loop = repeatsItself(store) ? ", repeats itself" : "";
    const gain = own === null || own.impossible ? "" : ` · ${own.value.toFixed(2)}×${loop}`;
    const ends: [at: number, head: string, words: string, cls: string][] = [
      [stairs.end, store.meta.stack || "this run", `${time(stairs.end)}${gain}`, "hsd-stairs-end"],
    ];
    if (stairs.plain !== null)
      ends.push([stairs.plain, "plain", time(stairs.plain), "hsd-stairs-plain-end"]);
    ends.sort((a, b) => a[0] - b[0]);
    let taken = -Infinity;
    return ends.map(([at, title, words, cls]) => {
      const half = 3.7 * Math.max(title.length, words.length);
      const x = Math.max(MARGIN.left + half, Math.min(frame.width - 4 - half, frame.x(at)));
      // A row higher where two would touch.
      const lift = x - half < taken + 10 ? LIFT : 0;
      taken = Math.max(taken, x + half);
      return { at, title, words, cls, x, lift };
    });
  }
  function label({ at, title, words, cls, x, lift }: ReturnType<typeof endsOf>[number]) {
    const top = frame.y(stairs.tokens);
    return svg`<circle class=${cls} cx=${frame.x(at)} cy=${top} r="4"></circle>
      <text class="hsd-stairs-title ${cls}" x=${x} y=${top - 18 - lift}
        text-anchor="middle">${title}</text>
      <text class="hsd-stairs-note" x=${x} y=${top - 6 - lift}
        text-anchor="middle">${words}</text>`;
  }
  function paintCursor() {
    const { step, shown, playing, pinned, hover, speed, round } = group.cursor;
    const { events, rounds } = store.index();
    const event = events[step];
    const xOf = (at: number) => frame.x(timeOf(stairs, at, rounds));
    const { top, foot, width, height } = frame;
    const x = event ? xOf(step) : 0;
    const seen = hover && hover.step !== step ? xOf(hover.step) : null;
    render(
      svg`<svg class="hsd-stairs" viewBox="0 0 ${width} ${height}" aria-hidden="true">${still}
        ${
          shown === null
            ? nothing
            : svg`<rect class="hsd-stairs-later" x=${x} y=${top}
          width=${Math.max(0, frame.end - x + 6)} height=${foot - top}></rect>`
        }
        ${
          seen === null
            ? nothing
            : svg`<line class="hsd-stairs-glance" x1=${seen} x2=${seen}
          y1=${top} y2=${foot}></line>`
        }
        ${
          event
            ? svg`<g class=${pinned ? "hsd-stairs-head hsd-stairs-pinned" : "hsd-stairs-head"}><line
              x1=${x} x2=${x} y1=${top} y2=${foot}></line
              ><circle r="4.5" cx=${x} cy=${frame.y(event.shown)}></circle></g>`
            : nothing
        }</svg>`,
      bar,
    );
    const at = `Round ${store.order.get(round ?? NaN)} of ${store.order.size}`;
    const place = event
      ? `${at}, event ${step + 1} of ${events.length}`
      : `${plural(events.length, "event")} in ${plural(rounds.length, "round")}`;
    const words = event
      ? eventWords(store, palette, step)
      : events.length
        ? "Tread: a round’s cost; riser: what it brought. Play, or drag."
        : "Waiting for the first token.";
    setAttributes(bar, {
      "aria-valuemax": Math.max(1, events.length),
      "aria-valuenow": Math.max(0, step) + 1,
    });
    // Playing and hovering are not announced.
    if (!event || !(playing || hover))
      setAttributes(bar, { "aria-valuetext": event ? `${place}: ${words}` : "no event selected" });

    const button = (icon: string, label: string, act: () => void, cls = "") =>
      html`<button
        class="hsd-player-button ${cls}"
        aria-label=${label}
        title=${label}
        @click=${act}
      >
        <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true">
          <path d=${icon}></path>
        </svg>
      </button>`;
    const walk = (way: Way, by: number) => () => {
      group.pause();
      group.follow();
      group[way](by);
    };
    const stepper = ([way, name, back, on]: (typeof UNITS)[number]) =>
      html`<span class="hsd-player-unit" role="group" aria-label=${name}
        >${button(BACK, `Previous ${name} (${back})`, walk(way, -1))}<span aria-hidden="true"
          >${name}</span
        >${button(ON, `Next ${name} (${on})`, walk(way, 1))}</span
      >`;
    const toggle = () => (group.cursor.playing ? group.pause() : group.play());
    const { playing: runs } = group.cursor;
    const main = button(
      runs ? PAUSE : PLAY,
      runs ? "Pause (Space)" : "Play (Space)",
      toggle,
      "hsd-player-main hsd-primary",
    );
    const pace = (value: string) => group.pace(value === "recorded" ? value : Number(value));
    render(
      html`<div class="hsd-player-buttons">
          ${main}${UNITS.map(stepper)}
        </div>
        ${menu(SPEEDS, String(speed), pace, { class: "hsd-player-speed", label: "Speed" })}
        <div class="hsd-player-line">
          <span class="hsd-player-place">${place}</span
          ><span class="hsd-player-words" title=${words}>${words}</span
          ><button
            class="hsd-player-whole"
            title="Escape"
            ?hidden=${shown === null}
            @click=${() => group.release()}
          >
            Show whole text
          </button>
        </div>`,
      row,
    );
  }

  const under = (e: PointerEvent) =>
    stepAt(
      stairs,
      frame.valueAt(e.clientX - bar.getBoundingClientRect().left),
      store.index().rounds,
    );
  bar.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    bar.setPointerCapture(e.pointerId);
    group.pause();
    group.scrub(under(e));
  });
  bar.addEventListener("pointermove", (e) => {
    if (bar.hasPointerCapture(e.pointerId)) group.scrub(under(e));
    else if (e.pointerType === "mouse") group.hover({ step: under(e) });
  });
  bar.addEventListener("pointerleave", () => group.hover(null));

  // Steps of a live run arrive more often than it is redrawn.
  redrawn(paint, 80);
  follow(null, paintCursor);
  resized(bar, paint);
  paint();
}
export default linkedWidget(staircaseView);
