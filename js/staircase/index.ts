// The player: the staircase of the run (stairs.ts) as its scrub bar, and buttons to step and play.
import { draw, focusable, make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import { duration, eventWords, plural } from "../lib/words";
import { gainOf, paths, stairsOf, stepAt, ticks, timeOf } from "./stairs";

const SPEEDS = [
  ["1", "1 event/s"],
  ["4", "4 events/s"],
  ["12", "12 events/s"],
  ["40", "40 events/s"],
  ["recorded", "as recorded"],
];
const ICONS = {
  play: "M5 3v14l12-7z",
  pause: "M5 3h4v14H5zM11 3h4v14h-4z",
  roundBack: "M4 3h2v14H4zM17 3v14l-9.5-7z",
  tokenBack: "M10.5 3v14L2 10zM18 3v14l-8.5-7z",
  eventBack: "M14 3v14L4.5 10z",
  event: "M6 3v14l9.5-7z",
  token: "M9.5 3v14l8.5-7zM2 3v14l8.5-7z",
  round: "M14 3h2v14h-2zM3 3v14l9.5-7z",
};
const MARGIN = { left: 40, right: 14, top: 30, bottom: 22 };

function staircaseView({ root, group, store, palette, follow }: View<object>) {
  root.classList.add("hsd-player");
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Staircase and player");
  const row = make("div", "hsd-player-row");
  const buttons = make("div", "hsd-player-buttons");

  function button(icon: keyof typeof ICONS, label: string, act: () => void) {
    const node = make("button", "hsd-player-button");
    const picture = draw("svg", { viewBox: "0 0 20 20", width: 16, height: 16, "aria-hidden": "true" });
    const path = draw("path", { d: ICONS[icon] });
    picture.append(path);
    node.append(picture);
    const name = (words: string) => {
      node.setAttribute("aria-label", words);
      node.title = words;
    };
    name(label);
    node.addEventListener("click", act);
    buttons.append(node);
    return { node, name, draw: (next: keyof typeof ICONS) => path.setAttribute("d", ICONS[next]) };
  }
  const stepping = (act: () => void) => () => {
    group.pause();
    group.follow();
    act();
  };
  button(
    "roundBack",
    "Previous round (Shift ←)",
    stepping(() => group.round(-1)),
  );
  button(
    "tokenBack",
    "Previous token (,)",
    stepping(() => group.token(-1)),
  );
  button(
    "eventBack",
    "Previous event (←)",
    stepping(() => group.move(-1)),
  );
  const play = button("play", "Play (Space)", () => (group.cursor.playing ? group.pause() : group.play()));
  play.node.classList.add("hsd-player-main");
  button(
    "event",
    "Next event (→)",
    stepping(() => group.move(1)),
  );
  button(
    "token",
    "Next token (.)",
    stepping(() => group.token(1)),
  );
  button(
    "round",
    "Next round (Shift →)",
    stepping(() => group.round(1)),
  );

  // --- the staircase
  const bar = focusable(make("div", "hsd-player-bar"));
  bar.setAttribute("role", "slider");
  bar.setAttribute("aria-label", "Events of the run");
  bar.setAttribute("aria-valuemin", "1");
  const picture = draw("svg", { "aria-hidden": "true", class: "hsd-stairs" });
  const still = draw("g");
  const later = draw("rect", { class: "hsd-stairs-later" });
  const glance = draw("line", { class: "hsd-stairs-glance" });
  const head = draw("g", { class: "hsd-stairs-head" });
  const post = draw("line");
  const knob = draw("circle", { r: 4.5 });
  head.append(post, knob);
  picture.append(still, later, glance, head);
  bar.append(picture);

  const speed = make("select", "hsd-player-speed");
  speed.setAttribute("aria-label", "Speed");
  for (const [value, words] of SPEEDS) {
    const option = make("option", "", words);
    option.value = value;
    speed.append(option);
  }
  speed.addEventListener("change", () => group.pace(speed.value === "recorded" ? "recorded" : Number(speed.value)));
  // With reduced motion, start at one event per second.
  if (matchMedia("(prefers-reduced-motion: reduce)").matches && !group.cursor.playing) group.pace(1);
  row.append(buttons, speed);
  const line = make("div", "hsd-player-line");
  const place = make("span", "hsd-player-place");
  const words = make("span", "hsd-player-words");
  const whole = make("button", "hsd-player-whole", "Show whole text");
  whole.title = "Escape";
  whole.addEventListener("click", () => group.release());
  line.append(place, words, whole);
  row.append(line);
  root.append(make("h2", "hsd-heard", "Staircase of the run"), bar, row);

  let stairs = stairsOf(store);
  let box = { width: 0, height: 0 };
  /** Time across the plot. */
  const span = () => Math.max(stairs.end, stairs.plain ?? 0, 1);
  const inner = () => ({
    width: Math.max(1, box.width - MARGIN.left - MARGIN.right),
    height: Math.max(1, box.height - MARGIN.top - MARGIN.bottom),
  });
  const x = (time: number) => MARGIN.left + (time / span()) * inner().width;
  const y = (tokens: number) => box.height - MARGIN.bottom - (tokens / Math.max(1, stairs.tokens)) * inner().height;
  const time = (ns: number) => (stairs.timed ? duration(ns) : plural(Math.round(ns), "round"));

  function paint() {
    const n = store.index().events.length;
    root.hidden = n === 0;
    if (!n) return;
    stairs = stairsOf(store);
    box = { width: bar.clientWidth, height: bar.clientHeight };
    picture.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    const parts: SVGElement[] = [];
    const bottom = box.height - MARGIN.bottom;
    for (const at of ticks(stairs.tokens, inner().height / 48)) {
      parts.push(
        draw("line", { class: "hsd-stairs-grid", x1: MARGIN.left, x2: box.width - MARGIN.right, y1: y(at), y2: y(at) }),
      );
      parts.push(
        draw("text", { class: "hsd-stairs-tick", x: MARGIN.left - 7, y: y(at) + 4, "text-anchor": "end" }, String(at)),
      );
    }
    for (const at of ticks(span(), inner().width / 110)) {
      const anchor = at ? (x(at) > box.width - 50 ? "end" : "middle") : "start";
      parts.push(
        draw(
          "text",
          { class: "hsd-stairs-tick", x: x(at), y: bottom + 16, "text-anchor": anchor },
          at ? time(at) : "0",
        ),
      );
    }
    if (stairs.plain !== null) {
      const d = `M${x(0)} ${y(0)}L${x(stairs.plain)} ${y(stairs.tokens)}`;
      parts.push(
        draw("path", { class: "hsd-stairs-plain", d: `${d}V${y(0)}Z` }),
        draw("path", { class: "hsd-stairs-ramp", d }),
      );
    }
    const { line, risers } = paths(stairs, store.tokens, palette.family, { x, y });
    parts.push(draw("path", { class: "hsd-stairs-treads", d: line }));
    for (const [family, d] of risers) parts.push(draw("path", { class: "hsd-stairs-riser", "data-family": family, d }));
    parts.push(...labels());
    still.replaceChildren(...parts);
    for (const [name, value] of Object.entries({ y: MARGIN.top, height: inner().height }))
      later.setAttribute(name, String(value));
    bar.setAttribute("aria-valuemax", String(n));
    paintCursor();
  }

  /** The ends of the staircase and of the ramp, with what they took. */
  function labels() {
    const top = y(stairs.tokens);
    const ends: [at: number, head: string, words: string, cls: string][] = [];
    const times = gainOf(stairs);
    const gain = times === null ? "" : ` · ${times.toFixed(2)}×`;
    ends.push([stairs.end, store.meta.stack || "this run", `${time(stairs.end)}${gain}`, "hsd-stairs-end"]);
    if (stairs.plain !== null) ends.push([stairs.plain, "plain", time(stairs.plain), "hsd-stairs-plain-end"]);
    ends.sort((a, b) => a[0] - b[0]);
    let taken = -Infinity;
    return ends.flatMap(([at, title, words, cls]) => {
      const wide = 7.4 * Math.max(title.length, words.length);
      const right = box.width - 4;
      const middle = Math.max(MARGIN.left + wide / 2, Math.min(right - wide / 2, x(at)));
      // Below the ends where two would touch.
      const y0 = middle - wide / 2 < taken + 10 ? top + 18 : top - 18;
      taken = Math.max(taken, middle + wide / 2);
      const place = { x: middle, "text-anchor": "middle" };
      return [
        draw("circle", { class: cls, cx: x(at), cy: top, r: 4 }),
        draw("text", { class: `hsd-stairs-title ${cls}`, ...place, y: y0 }, title),
        draw("text", { class: "hsd-stairs-note", ...place, y: y0 + 12 }, words),
      ];
    });
  }

  const set = (node: SVGElement, values: Record<string, number>) => {
    for (const [name, value] of Object.entries(values)) node.setAttribute(name, String(value));
  };
  function paintCursor() {
    const { step, shown, playing, pinned, hover, speed: pace, round } = group.cursor;
    const { events, rounds } = store.index();
    play.draw(playing ? "pause" : "play");
    play.name(playing ? "Pause (Space)" : "Play (Space)");
    speed.value = String(pace);
    whole.hidden = shown === null;
    const toggle = (node: SVGElement, off: boolean) => node.toggleAttribute("hidden", off);
    toggle(head, step < 0);
    toggle(glance, !hover || hover.step === step);
    toggle(later, shown === null);
    const lines = { y1: MARGIN.top, y2: box.height - MARGIN.bottom };
    if (hover) {
      const at = x(timeOf(stairs, hover.step, rounds));
      set(glance, { x1: at, x2: at, ...lines });
    }
    if (step < 0 || !events[step]) {
      bar.setAttribute("aria-valuenow", "1");
      bar.setAttribute("aria-valuetext", "no event selected");
      place.textContent = `${plural(events.length, "event")} in ${plural(rounds.length, "round")}`;
      words.textContent = "A tread is what a round cost, a riser what it brought. Play, or drag over the staircase.";
      return;
    }
    const at = x(timeOf(stairs, step, rounds));
    set(post, { x1: at, x2: at, ...lines });
    set(knob, { cx: at, cy: y(events[step].shown) });
    set(later, { x: at, width: Math.max(0, box.width - MARGIN.right - at + 6) });
    head.classList.toggle("hsd-stairs-pinned", pinned);
    place.textContent = `Round ${store.order.get(round ?? NaN)} of ${store.order.size}, event ${step + 1} of ${events.length}`;
    words.textContent = eventWords(store, palette, step);
    bar.setAttribute("aria-valuenow", String(step + 1));
    // Playing and hovering are not announced.
    if (!playing && !hover) bar.setAttribute("aria-valuetext", `${place.textContent}: ${words.textContent}`);
  }

  const under = (e: PointerEvent) => {
    const left = bar.getBoundingClientRect().left + MARGIN.left;
    return stepAt(stairs, ((e.clientX - left) / inner().width) * span(), store.index().rounds);
  };
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

  let waiting = 0;
  const onStore = (what: string) => {
    if (what === "reset") {
      paint();
      return;
    }
    // Redraw less often than steps arrive.
    waiting ||= setTimeout(() => {
      waiting = 0;
      paint();
    }, 80);
  };
  follow(onStore, paintCursor);
  const resized = new ResizeObserver(() => paint());
  resized.observe(bar);
  paint();
  return () => {
    resized.disconnect();
    clearTimeout(waiting);
  };
}
export default linkedWidget(staircaseView);
