// The player: a scrub bar of all events, and buttons to step and play.
import { draw, focusable, make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Index } from "../lib/run";
import { eventWords, plural } from "../lib/words";

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
const HIGH = 24;

/**
 * The bar as SVG path data in a box of one unit per event and height HIGH: for each source family `kept` (emitted) and `refused`
 * (rejected); `rounds`: starts of rounds.
 */
export function tracks(
  index: Pick<Index, "events" | "rounds">,
  tokens: { source: string }[],
  family: (source: string) => string,
) {
  const by: Map<string, { kept: string; refused: string }> = new Map();
  const at = (source: string) => {
    const name = family(source);
    if (!by.has(name)) by.set(name, { kept: "", refused: "" });
    return by.get(name) as { kept: string; refused: string };
  };
  index.events.forEach((e, step) => {
    if (e.kind === "draft") return;
    if (e.draft && e.draft.verdict !== "accepted") at(e.draft.source).refused += `M${step} ${HIGH}v-7h1v7z`;
    else at(tokens[e.token].source).kept += `M${step} ${HIGH}v-${HIGH - 4}h1v${HIGH - 4}z`;
  });
  return { by, rounds: index.rounds.map((r) => r.begin) };
}

/** The step at a pointer position on a bar of `n` events. */
export const stepAt = (x: number, box: { left: number; width: number }, n: number) =>
  Math.max(0, Math.min(n - 1, Math.floor(((x - box.left) / Math.max(1, box.width)) * n)));

function playerView({ root, group, store, palette, follow }: View<object>) {
  root.classList.add("hsd-player");
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Player");
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

  // --- the bar
  const bar = focusable(make("div", "hsd-player-bar"));
  bar.setAttribute("role", "slider");
  bar.setAttribute("aria-label", "Events of the run");
  bar.setAttribute("aria-valuemin", "1");
  const picture = draw("svg", { preserveAspectRatio: "none", "aria-hidden": "true", class: "hsd-player-events" });
  const later = make("div", "hsd-player-later");
  const head = make("div", "hsd-player-head");
  const glance = make("div", "hsd-player-glance");
  bar.append(picture, later, glance, head);

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
  row.append(buttons, bar, speed);
  const line = make("div", "hsd-player-line");
  const place = make("span", "hsd-player-place");
  const words = make("span", "hsd-player-words");
  const whole = make("button", "hsd-player-whole", "Show whole text");
  whole.title = "Escape";
  whole.addEventListener("click", () => group.release());
  line.append(place, words, whole);
  root.append(row, line);

  function paint() {
    const index = store.index();
    const n = index.events.length;
    root.hidden = n === 0;
    if (!n) return;
    const { by, rounds } = tracks(index, store.tokens, palette.family);
    const parts = [];
    for (const [name, { kept, refused }] of by) {
      for (const [cls, d] of [
        ["hsd-player-kept", kept],
        ["hsd-player-refused", refused],
      ]) {
        if (d) parts.push(draw("path", { d, class: cls, "data-family": name }));
      }
    }
    parts.push(draw("path", { d: rounds.map((x) => `M${x} 0V${HIGH}`).join(""), class: "hsd-player-rounds" }));
    picture.setAttribute("viewBox", `0 0 ${n} ${HIGH}`);
    picture.replaceChildren(...parts);
    bar.setAttribute("aria-valuemax", String(n));
    paintCursor();
  }

  const percent = (step: number) => `${(100 * (step + 0.5)) / store.index().events.length}%`;
  function paintCursor() {
    const { step, shown, playing, pinned, hover, speed: pace, round } = group.cursor;
    const { events } = store.index();
    play.draw(playing ? "pause" : "play");
    play.name(playing ? "Pause (Space)" : "Play (Space)");
    speed.value = String(pace);
    whole.hidden = shown === null;
    head.hidden = step < 0;
    glance.hidden = !hover || hover.step === step;
    later.hidden = shown === null;
    if (hover) glance.style.left = percent(hover.step);
    if (step < 0 || !events[step]) {
      bar.setAttribute("aria-valuenow", "1");
      bar.setAttribute("aria-valuetext", "no event selected");
      place.textContent = `${plural(events.length, "event")} in ${plural(store.index().rounds.length, "round")}`;
      words.textContent = "Play the run or drag over the bar; all views follow.";
      return;
    }
    head.style.left = percent(step);
    later.style.left = percent(step);
    head.classList.toggle("hsd-player-pinned", pinned);
    place.textContent = `Round ${store.order.get(round ?? NaN)} of ${store.order.size}, event ${step + 1} of ${events.length}`;
    words.textContent = eventWords(store, palette, step);
    bar.setAttribute("aria-valuenow", String(step + 1));
    // Playing and hovering are not announced.
    if (!playing && !hover) bar.setAttribute("aria-valuetext", `${place.textContent}: ${words.textContent}`);
  }

  const under = (e: PointerEvent) => stepAt(e.clientX, bar.getBoundingClientRect(), store.index().events.length);
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
    // Redraw the bar less often than steps arrive.
    waiting ||= setTimeout(() => {
      waiting = 0;
      paint();
    }, 250);
  };
  follow(onStore, paintCursor);
  paint();
  return () => {
    clearTimeout(waiting);
  };
}
export default linkedWidget(playerView);
