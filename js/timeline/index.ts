// The timeline of a run: a lane of calls per level, rounds above, idle time below. All times are recorded, in
// nanoseconds from the start of the decode.

import { draw, focusable, make } from "../lib/dom";
import type { Cursor } from "../lib/group";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Change } from "../lib/run";
import type { Call, Round } from "../lib/tables";
import { duration } from "../lib/words";
import { zoomOf } from "../lib/zoom";
import type { Shown } from "./said";
import { callWords, createTelling, isCall, isRound, servedBy } from "./said";
import type { Lane, Range, TimeSpan } from "./spans";
import {
  barsOf,
  firstEndingAfter,
  gapsOf,
  lanesOf,
  panView,
  spanAt,
  tickWords,
  timeTicks,
  viewWith,
  viewWithin,
  zoomView,
} from "./spans";

const AXIS = 22;
const ROUNDS = 22;
const LANE = 36;
const IDLE = 20;
/** Maximum pointer movement of a click, px. */
const STILL = 4;

function createTimeline({ root, group, store, palette, follow }: View<object>) {
  root.classList.add("hsd-timeline");

  // --- the frame
  const bar = make("div", "hsd-tl-bar");
  const range = make("span", "hsd-tl-range");
  const buttons = make("div", "hsd-tl-buttons");
  const button = (label: string, act: () => void, words: string = label) => {
    const b = make("button", "", label);
    if (words !== label) {
      b.title = words;
      b.setAttribute("aria-label", words);
    }
    b.addEventListener("click", act);
    buttons.append(b);
    return b;
  };
  button("+", () => zoom(0.5, centre()), "Zoom in");
  button("−", () => zoom(2, centre()), "Zoom out");
  button("←", () => pan(-0.5), "Earlier");
  button("→", () => pan(0.5), "Later");
  const one = button("This round", () => {
    const r = store.rounds.get(group.cursor.round ?? NaN);
    if (r) look(viewWithin(r.start_ns - 0.08 * r.duration_ns, 1.16 * r.duration_ns, end));
    else readout.textContent = one.title;
  });
  button("Whole run", () => look({ from: 0, to: end }));
  bar.append(range, buttons);
  const chart = make("div", "hsd-tl-chart");
  const names = make("div", "hsd-tl-names");
  const area = make("div", "hsd-tl-area");
  focusable(area).setAttribute("role", "group");
  area.setAttribute(
    "aria-label",
    "Timeline. Plus and minus zoom, Page Up and Page Down pan, 0 shows the whole run; up and down move between calls, left and right between events; Enter pins.",
  );
  chart.append(names, area);
  const readout = make("p", "hsd-tl-readout");
  const note = make("p", "hsd-tl-note");
  root.append(bar, chart, readout, note);

  const simulated = () => store.levels[0]?.endsWith("(simulated)");

  // --- state
  let end = 1;
  let view: Range = { from: 0, to: 1 };
  let lanes: Lane[] = [];
  let gaps: TimeSpan[] = [];
  let inOrder: Call[] = [];
  let tops: Round[] = [];
  let nested: Map<number, Round[]> = new Map();
  let looked: Call | TimeSpan | null = null; // the hovered or focused call or gap
  let walked = false;

  const { roundOf, callSentence, gapSentence, roundSentence } = createTelling(store);
  const familyOf = (lane: Lane) =>
    lane.name === "db" || lane.name === "hd" ? "" : palette.family(lane.level === target() ? "target" : lane.name);
  const target = () => Math.max(0, ...tops.map((r) => r.level));

  function gather() {
    const all = [...store.rounds.values()];
    const byStart = (a: TimeSpan, b: TimeSpan) => a.start_ns - b.start_ns;
    tops = all.filter((r) => r.parent === null).sort(byStart);
    nested = new Map();
    for (const r of all) if (r.parent !== null) nested.set(r.level, [...(nested.get(r.level) || []), r]);
    for (const list of nested.values()) list.sort(byStart);
    inOrder = [...store.calls].sort(byStart);
    const over = Math.max(1, ...[...inOrder.slice(-1), ...tops.slice(-1)].map((s) => s.start_ns + s.duration_ns));
    const whole = view.from === 0 && view.to === end;
    end = Math.max(over, store.meta.wall_ns ?? 0);
    lanes = lanesOf(inOrder, end);
    gaps = gapsOf(inOrder, end);
    if (whole) view = { from: 0, to: end };
    else view = viewWithin(view.from, view.to - view.from, end);
  }

  // --- drawing
  const height = () => AXIS + ROUNDS + LANE * lanes.length + IDLE + 6;
  const laneTop = (k: number) => AXIS + ROUNDS + 4 + LANE * k;
  const scale = () => Math.max(1, area.clientWidth) / (view.to - view.from);
  const xOf = (t: number) => (t - view.from) * scale();
  const tOf = (x: number) => view.from + x / scale();

  function drawNames() {
    const cell = (top: number, high: number, name: string, more: string, family: string) => {
      const box = make("div", "hsd-tl-name");
      box.style.top = `${top}px`;
      box.style.height = `${high}px`;
      const words = make("span", "hsd-tl-who", name);
      if (family) words.dataset.family = family;
      box.append(words);
      if (more) box.append(make("span", "hsd-tl-share", more));
      return box;
    };
    const percent = (x: number) => `${(100 * x).toFixed(x > 0 && x < 0.0995 ? 1 : 0)} %`;
    const idle = gaps.reduce((sum, g) => sum + g.duration_ns, 0);
    names.style.height = `${height()}px`;
    names.replaceChildren(
      cell(AXIS, ROUNDS, "rounds", String(tops.length || ""), ""),
      ...lanes.map((lane, k) =>
        cell(laneTop(k), LANE - 6, lane.name, `${percent(lane.share)} · ${duration(lane.ns)}`, familyOf(lane)),
      ),
      cell(laneTop(lanes.length), IDLE - 4, "idle", percent(idle / end), ""),
    );
    note.textContent = lanes.length
      ? `Share: the lane’s time over ${duration(end)}, prefill included. ${simulated() ? "Simulated: look-ups for likely outcomes beside the verification before" : "Calls do not overlap"}; idle time is sampling, verification and bookkeeping. Number in a bar: tokens fed. Thin line above a lane’s bars: a round of that level.`
      : "";
  }

  /** State of the drawn picture: if only the cursor changed, only its frame moves. */
  let drawn: unknown[] = [];
  let edition = 0;
  const here = draw("rect", { y: AXIS, rx: 3 });
  function paint() {
    const width = area.clientWidth;
    const of = [width, view.from, view.to, edition, looked];
    if (of.some((x, k) => x !== drawn[k])) area.replaceChildren(picture(width));
    drawn = of;
    const r = store.rounds.get(group.cursor.round ?? NaN);
    if (r && r.start_ns < view.to && r.start_ns + r.duration_ns > view.from) {
      const place = {
        x: xOf(r.start_ns) - 1,
        width: Math.max(3, r.duration_ns * scale() + 2),
        height: height() - AXIS - 1,
        class: group.cursor.pinned ? "hsd-tl-here hsd-pinned" : "hsd-tl-here",
      };
      for (const [name, value] of Object.entries(place)) here.setAttribute(name, String(value));
      area.firstElementChild?.append(here);
    } else here.remove();
    // Not disabled, so that it stays focusable and can show the reason.
    const none = !store.rounds.has(group.cursor.round ?? NaN);
    one.setAttribute("aria-disabled", String(none));
    one.title = none ? "Select a token or a bar first" : "Zoom to the selected round";
  }
  function picture(width: number) {
    const h = height();
    const svg = draw("svg", {
      width,
      height: h,
      viewBox: `0 0 ${width} ${h}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    const { step, ticks } = timeTicks(view.from, view.to, Math.max(2, Math.floor(width / (width < 500 ? 60 : 110))));
    for (const t of ticks) {
      const x = xOf(t);
      svg.append(draw("line", { x1: x, x2: x, y1: AXIS - 4, y2: h, class: "hsd-tl-tick" }));
      const anchor = x > width - 34 ? "end" : x < 20 ? "start" : "middle";
      svg.append(
        draw(
          "text",
          { x: Math.min(width - 2, Math.max(2, x)), y: 12, class: "hsd-tl-ticktext", "text-anchor": anchor },
          tickWords(t, step, view.to),
        ),
      );
    }
    // Target rounds, numbered from 1.
    for (const b of barsOf(tops, view.from, view.to, width)) {
      const r = tops[b.first];
      const n = store.order.get(r.id);
      svg.append(
        draw("rect", {
          x: b.x,
          y: AXIS + 2,
          width: Math.max(0.75, b.w - (b.w > 4 ? 1 : 0)),
          height: ROUNDS - 5,
          class: b.count > 1 ? "hsd-tl-round hsd-many" : "hsd-tl-round",
        }),
      );
      if (b.count === 1 && b.w > 9 + 7 * String(n).length)
        svg.append(draw("text", { x: b.x + (b.w - 1) / 2, y: AXIS + 14, class: "hsd-tl-number" }, String(n)));
    }
    lanes.forEach((lane, k) => {
      const y = laneTop(k);
      const g = draw("g", { "data-family": familyOf(lane), class: "hsd-tl-lane" });
      const own = nested.get(lane.level) || [];
      for (const b of barsOf(own, view.from, view.to, width))
        g.append(
          draw("rect", {
            x: b.x,
            y: y + 1,
            width: Math.max(0.75, b.w - (b.w > 3 ? 1 : 0)),
            height: 3,
            class: "hsd-tl-below",
          }),
        );
      for (const b of barsOf(lane.calls, view.from, view.to, width)) {
        const c = lane.calls[b.first];
        const rect = draw("rect", {
          x: b.x,
          y: y + 6,
          width: b.w,
          height: LANE - 14,
          class: `hsd-tl-call hsd-${b.count > 1 ? "many" : c.kind}`,
        });
        if (b.count > 1) rect.setAttribute("fill-opacity", String(0.35 + 0.65 * b.busy));
        if (c === looked && b.count === 1) rect.classList.add("hsd-on");
        g.append(rect);
        if (b.count > 1) continue;
        const words = callWords(c);
        const fits = words.find((w) => b.w > 8 + 6.6 * w.length);
        if (fits) g.append(draw("text", { x: b.x + b.w / 2, y: y + LANE / 2 + 3, class: "hsd-tl-word" }, fits));
      }
      svg.append(g);
    });
    for (const b of barsOf(gaps, view.from, view.to, width)) {
      const rect = draw("rect", {
        x: b.x,
        y: laneTop(lanes.length),
        width: b.w,
        height: IDLE - 6,
        class: "hsd-tl-idle",
      });
      if (b.count > 1) rect.setAttribute("fill-opacity", String(0.35 + 0.65 * b.busy));
      if (gaps[b.first] === looked) rect.classList.add("hsd-on");
      svg.append(rect);
    }
    area.style.height = `${h}px`;
    range.textContent =
      tops.length || inOrder.length
        ? `${view.from ? duration(view.from) : 0} to ${duration(view.to)}${view.to - view.from < end ? ` of ${duration(end)}` : ""}`
        : "no calls yet";
    return svg;
  }

  function tell() {
    readout.setAttribute("aria-live", walked ? "polite" : "off");
    const r = store.rounds.get(group.cursor.round ?? NaN);
    readout.textContent = looked
      ? isCall(looked)
        ? callSentence(looked)
        : gapSentence(looked)
      : r
        ? roundSentence(r)
        : "Hover over a bar for details; click it to select its round. Drag pans, Ctrl + wheel zooms.";
  }

  let frame = 0;
  let fresh = true;
  function soon(changed = false) {
    fresh ||= changed;
    if (!frame)
      frame = requestAnimationFrame(() => {
        frame = 0;
        now();
      });
  }
  function now() {
    if (!area.clientWidth) return; // hidden; drawn when visible
    catchUp();
    paint();
    tell();
  }
  function catchUp() {
    if (!fresh) return;
    fresh = false;
    edition += 1;
    gather();
    drawNames();
  }

  // --- moving
  function look(next: Range) {
    view = next;
    soon();
  }
  function zoom(factor: number, at: number) {
    look(zoomView(view, factor, at, end));
  }
  function pan(part: number) {
    look(panView(view, part * (view.to - view.from), end));
  }
  /** The middle of the selection if in view, else of the view. */
  const centre = () => {
    const s = looked || store.rounds.get(group.cursor.round ?? NaN);
    const t = s ? s.start_ns + s.duration_ns / 2 : NaN;
    return t >= view.from && t <= view.to ? t : (view.from + view.to) / 2;
  };

  /** Where in the chart an event happened. */
  function placeOf(e: MouseEvent) {
    const box = area.getBoundingClientRect();
    return [(e.clientX - box.left) / zoomOf(area), (e.clientY - box.top) / zoomOf(area)];
  }

  area.addEventListener(
    "wheel",
    (e) => {
      const [x] = placeOf(e);
      if (e.ctrlKey || e.metaKey) zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 120), tOf(x));
      else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
        look(panView(view, (e.deltaX || e.deltaY) / scale(), end));
      else return; // without Ctrl the wheel scrolls the page
      e.preventDefault();
    },
    { passive: false },
  );

  /** The call or gap at a point of the chart, or null. */
  function at(e: PointerEvent) {
    const [x, y] = placeOf(e);
    const t = tOf(x);
    const slack = 3 / scale();
    const k = Math.floor((y - laneTop(0)) / LANE);
    if (y < AXIS) return null;
    if (k < 0) return spanAt(tops, t, slack);
    if (k < lanes.length) return spanAt(lanes[k].calls, t, slack);
    return spanAt(gaps, t, slack);
  }
  function lookAt(s: Shown | null, byKey = false) {
    const call = isRound(s) ? null : s;
    if (call !== looked) {
      looked = call;
      walked = byKey;
      soon();
    }
  }

  let drag: { x: number; from: number; moved: boolean } | null = null;
  area.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    drag = { x: e.clientX, from: view.from, moved: false };
    area.setPointerCapture(e.pointerId);
  });
  area.addEventListener("pointermove", (e) => {
    if (drag) {
      const by = (e.clientX - drag.x) / zoomOf(area);
      drag.moved ||= Math.abs(by) >= STILL;
      if (drag.moved) {
        area.classList.add("hsd-dragging");
        look(viewWithin(drag.from - by / scale(), view.to - view.from, end));
      }
      return;
    }
    if (e.pointerType === "touch") return;
    const s = at(e);
    lookAt(s);
    const id = roundOf(s);
    group.hover(id === null ? null : { round: id });
  });
  const drop = (e: PointerEvent) => {
    const was = drag;
    drag = null;
    area.classList.remove("hsd-dragging");
    if (!was || was.moved || e.type === "pointercancel") return;
    const s = at(e);
    lookAt(s);
    const id = servedBy(s);
    if (id !== null) group.pin({ round: id });
  };
  area.addEventListener("pointerup", drop);
  area.addEventListener("pointercancel", drop);
  area.addEventListener("pointerleave", () => {
    if (!drag) {
      lookAt(null);
      group.hover(null);
    }
  });

  function walk(by: number) {
    if (!inOrder.length) return;
    const r = store.rounds.get(group.cursor.round ?? NaN);
    let k = isCall(looked) ? inOrder.indexOf(looked) + by : r ? firstEndingAfter(inOrder, r.start_ns) : 0;
    k = Math.max(0, Math.min(inOrder.length - 1, k));
    const call = inOrder[k];
    const id = roundOf(call);
    if (id !== null && id !== group.cursor.round) group.go({ round: id });
    view = viewWith(view, call.start_ns, call.duration_ns, end);
    looked = null;
    lookAt(call, true);
  }
  area.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const keys: Record<string, () => void> = {
      "+": () => zoom(0.5, centre()),
      "=": () => zoom(0.5, centre()),
      "-": () => zoom(2, centre()),
      0: () => look({ from: 0, to: end }),
      PageUp: () => pan(-0.8),
      PageDown: () => pan(0.8),
      ArrowDown: () => walk(1),
      ArrowUp: () => walk(-1),
    };
    if (!Object.hasOwn(keys, e.key)) return;
    keys[e.key]();
    e.preventDefault();
    e.stopPropagation();
  });

  // --- life
  function onCursor(cursor: Cursor, before: Cursor) {
    const moved = cursor.round !== before.round;
    if (moved && looked && roundOf(looked) !== cursor.round && !area.matches(":hover")) looked = null;
    const r = store.rounds.get(cursor.round ?? NaN);
    // Hovering in other views must not pan the timeline.
    if (moved && r && !cursor.hover && !area.matches(":hover")) {
      catchUp();
      view = viewWith(view, r.start_ns, r.duration_ns, end);
    }
    soon();
  }
  function onStore(what: Change) {
    if (what === "reset") {
      looked = null;
      view = { from: 0, to: end };
    }
    soon(true);
  }
  follow(onStore, onCursor);
  now();
  const resized = new ResizeObserver(() => soon());
  resized.observe(area);
  return () => {
    cancelAnimationFrame(frame);
    resized.disconnect();
  };
}

export default linkedWidget(createTimeline);
