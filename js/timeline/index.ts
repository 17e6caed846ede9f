// The strip of a run over time, in nanoseconds from the start of the decode: target rounds, their tokens by source, what each database
// drafted, a lane of calls per level, and idle time.
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
import type { Range, TimeSpan } from "./spans";
import {
  barsOf,
  firstEndingAfter,
  gapsOf,
  lanesOf,
  panView,
  spanAt,
  suppliesOf,
  tickWords,
  timeTicks,
  viewWith,
  viewWithin,
  zoomView,
} from "./spans";

const AXIS = 22;
const HIGH = { rounds: 22, tokens: 44, source: 36, calls: 36, idle: 20 };
/** Maximum pointer movement of a click, px. */
const STILL = 4;

/** A row of the strip: its label, what can be pointed at, and its picture in a box of its height. */
interface Row {
  name: string;
  more: string;
  family: string;
  high: number;
  spans: TimeSpan[];
  picture(width: number): SVGElement[];
}

function createTimeline({ model, root, group, store, palette, follow }: View<object>) {
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
  const one = button("This round", () => {
    const r = here();
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

  // --- state
  let end = 1;
  let view: Range = { from: 0, to: 1 };
  let rows: Row[] = [];
  let inOrder: Call[] = [];
  let looked: Call | TimeSpan | null = null; // the hovered or focused call or gap
  let walked = false;
  const here = () => store.rounds.get(group.cursor.round ?? NaN);
  const told = createTelling(store, palette);

  const { databases } = model.get("palette");
  const isDatabase = (s: string) => databases.includes(s) || s === "logits" || palette.family(s) === "baseline";
  const percent = (x: number) => `${(100 * x).toFixed(x > 0 && x < 0.0995 ? 1 : 0)} %`;

  function gather() {
    const byStart = (a: TimeSpan, b: TimeSpan) => a.start_ns - b.start_ns;
    const tops = [...store.order.keys()].map((id) => store.rounds.get(id) as Round).sort(byStart);
    const target = Math.max(0, ...tops.map((r) => r.level));
    inOrder = [...store.calls].sort(byStart);
    const over = Math.max(1, ...[...inOrder.slice(-1), ...tops.slice(-1)].map((s) => s.start_ns + s.duration_ns));
    const whole = view.from === 0 && view.to === end;
    end = Math.max(over, store.meta.wall_ns ?? 0);
    view = whole ? { from: 0, to: end } : viewWithin(view.from, view.to - view.from, end);
    const gaps = gapsOf(inOrder, end);
    const supplies = suppliesOf(store, isDatabase, databases);
    told.supplies = supplies;
    const most = Math.max(1, ...supplies.flatMap((s) => [...s.drafted.values()]));
    rows = [
      rounds(tops),
      ...(store.tokens.length ? [tokens(tops)] : []),
      ...supplies.map(({ source, drafted, accepted }) => ({
        ...{ name: palette.words(source), more: `in ${drafted.size} of ${tops.length} rounds`, high: HIGH.source },
        ...{ family: palette.family(source), spans: tops },
        picture: () =>
          [drafted, accepted].map((counts, k) => {
            const bars = tops.map((r) =>
              column(r, 0, ((counts.get(r.id) ?? 0) / most) * (HIGH.source - 6), HIGH.source),
            );
            return draw("path", { class: k ? "hsd-tl-accepted" : "hsd-tl-drafted", d: bars.join("") });
          }),
      })),
      ...lanesOf(inOrder, end).map((lane) => {
        const family =
          lane.name === "db" || lane.name === "hd" ? "" : palette.family(lane.level === target ? "target" : lane.name);
        const more = `${percent(lane.share)} · ${duration(lane.ns)}`;
        return { name: lane.name, more, family, high: HIGH.calls, spans: lane.calls, picture: calls(lane.calls) };
      }),
      idle(gaps),
    ];
    const supplied = supplies.length ? " Pale: drafted tokens of a round, solid: accepted by the first verifier." : "";
    const kind = store.levels[0]?.endsWith("(simulated)")
      ? "Simulated: look-ups for likely outcomes beside the verification before"
      : "Calls do not overlap";
    note.textContent = inOrder.length
      ? `Tokens: those that a round emitted, by source.${supplied} Share: the lane’s time over ${duration(end)}, prefill included. ${kind}; idle time is sampling, verification and bookkeeping. Number in a bar: tokens fed.`
      : "";
  }

  // --- rows
  const scale = () => Math.max(1, area.clientWidth) / (view.to - view.from);
  const xOf = (t: number) => (t - view.from) * scale();
  const tOf = (x: number) => view.from + x / scale();
  /** Path data of a round's column from `low` to `low + high` above the foot of a row; "" out of view. */
  function column(r: Round, low: number, high: number, foot: number) {
    if (!high || r.start_ns > view.to || r.start_ns + r.duration_ns < view.from) return "";
    const [x, w] = [xOf(r.start_ns), r.duration_ns * scale()];
    const wide = Math.max(0.75, w - (w > 4 ? 1 : 0));
    return `M${x.toFixed(1)} ${(foot - low).toFixed(1)}h${wide.toFixed(1)}v${(-high).toFixed(1)}h${(-wide).toFixed(1)}z`;
  }
  function rounds(tops: Round[]): Row {
    const picture = (width: number) =>
      barsOf(tops, view.from, view.to, width).flatMap((b) => {
        const n = String(store.order.get(tops[b.first].id));
        const size = { x: b.x, y: 2, width: Math.max(0.75, b.w - (b.w > 4 ? 1 : 0)), height: HIGH.rounds - 5 };
        const box = draw("rect", { ...size, class: b.count > 1 ? "hsd-tl-round hsd-many" : "hsd-tl-round" });
        if (b.count > 1 || b.w <= 9 + 7 * n.length) return [box];
        return [box, draw("text", { x: b.x + (b.w - 1) / 2, y: 14, class: "hsd-tl-number" }, n)];
      });
    return { name: "rounds", more: String(tops.length || ""), family: "", high: HIGH.rounds, spans: tops, picture };
  }
  function tokens(tops: Round[]): Row {
    const { rounds: spans, placeOf } = store.index();
    const unit = (HIGH.tokens - 6) / Math.max(1, ...spans.map((s) => s.count));
    const picture = () => {
      const found = new Map<string, string>();
      for (const r of tops) {
        const span = spans[placeOf.get(r.id) ?? -1];
        for (let k = 0; k < (span?.count ?? 0); k++) {
          const family = palette.family(store.tokens[span.first + k].source);
          const d = column(r, k * unit, unit > 3 ? unit - 0.6 : unit, HIGH.tokens);
          found.set(family, (found.get(family) ?? "") + d);
        }
      }
      return [...found].map(([family, d]) => draw("path", { class: "hsd-tl-token", "data-family": family, d }));
    };
    const more = `up to ${Math.max(0, ...spans.map((s) => s.count))} per round`;
    return { name: "tokens", more, family: "", high: HIGH.tokens, spans: tops, picture };
  }
  const calls = (all: Call[]) => (width: number) =>
    barsOf(all, view.from, view.to, width).flatMap((b) => {
      const c = all[b.first];
      const kind = b.count > 1 ? "many" : c.kind;
      const box = draw("rect", { x: b.x, y: 6, width: b.w, height: HIGH.calls - 14, class: `hsd-tl-call hsd-${kind}` });
      if (b.count > 1) box.setAttribute("fill-opacity", String(0.35 + 0.65 * b.busy));
      else if (c === looked) box.classList.add("hsd-on");
      const fits = b.count > 1 ? "" : callWords(c).find((w) => b.w > 8 + 6.6 * w.length);
      return fits
        ? [box, draw("text", { x: b.x + b.w / 2, y: HIGH.calls / 2 + 3, class: "hsd-tl-word" }, fits)]
        : [box];
    });
  function idle(gaps: TimeSpan[]): Row {
    const picture = (width: number) =>
      barsOf(gaps, view.from, view.to, width).map((b) => {
        const box = draw("rect", { x: b.x, y: 0, width: b.w, height: HIGH.idle - 6, class: "hsd-tl-idle" });
        if (b.count > 1) box.setAttribute("fill-opacity", String(0.35 + 0.65 * b.busy));
        if (gaps[b.first] === looked) box.classList.add("hsd-on");
        return box;
      });
    const spent = gaps.reduce((sum, g) => sum + g.duration_ns, 0);
    return { name: "idle", more: percent(spent / end), family: "", high: HIGH.idle, spans: gaps, picture };
  }

  // --- drawing
  /** The rows with their tops. */
  function placed() {
    let top = AXIS;
    return rows.map((row) => {
      top += row.high;
      return { row, top: top - row.high };
    });
  }
  const height = () => rows.reduce((sum, row) => sum + row.high, AXIS + 6);
  function drawNames() {
    names.style.height = `${height()}px`;
    names.replaceChildren(
      ...placed().map(({ row, top }) => {
        const box = make("div", row.high < 30 ? "hsd-tl-name hsd-low" : "hsd-tl-name");
        box.style.cssText = `top: ${top}px; height: ${row.high - 4}px`;
        const who = make("span", "hsd-tl-who", row.name);
        if (row.family) who.dataset.family = row.family;
        box.append(who, make("span", "hsd-tl-share", row.more));
        return box;
      }),
    );
  }

  /** State of the drawn picture: if only the cursor changed, only its frame moves. */
  let drawn: unknown[] = [];
  let edition = 0;
  const frameOf = draw("rect", { y: AXIS, rx: 3 });
  function paint() {
    const width = area.clientWidth;
    const of = [width, view.from, view.to, edition, looked];
    if (of.some((x, k) => x !== drawn[k])) area.replaceChildren(picture(width));
    drawn = of;
    const r = here();
    if (r && r.start_ns < view.to && r.start_ns + r.duration_ns > view.from) {
      const place = {
        x: xOf(r.start_ns) - 1,
        width: Math.max(3, r.duration_ns * scale() + 2),
        height: height() - AXIS - 1,
        class: group.cursor.pinned ? "hsd-tl-here hsd-pinned" : "hsd-tl-here",
      };
      for (const [name, value] of Object.entries(place)) frameOf.setAttribute(name, String(value));
      area.firstElementChild?.append(frameOf);
    } else frameOf.remove();
    // Not disabled, so that it stays focusable and can show the reason.
    one.setAttribute("aria-disabled", String(!r));
    one.title = r ? "Zoom to the selected round" : "Select a token or a bar first";
  }
  function picture(width: number) {
    const h = height();
    const box = { width, height: h, viewBox: `0 0 ${width} ${h}`, preserveAspectRatio: "none", "aria-hidden": "true" };
    const svg = draw("svg", box);
    const { step, ticks } = timeTicks(view.from, view.to, Math.max(2, Math.floor(width / (width < 500 ? 60 : 110))));
    for (const t of ticks) {
      const x = xOf(t);
      const anchor = x > width - 34 ? "end" : x < 20 ? "start" : "middle";
      const at = { x: Math.min(width - 2, Math.max(2, x)), y: 12, class: "hsd-tl-ticktext", "text-anchor": anchor };
      svg.append(
        draw("line", { x1: x, x2: x, y1: AXIS - 4, y2: h, class: "hsd-tl-tick" }),
        draw("text", at, tickWords(t, step, view.to)),
      );
    }
    for (const { row, top } of placed()) {
      const g = draw("g", { transform: `translate(0 ${top})`, class: "hsd-tl-lane" });
      if (row.family) g.dataset.family = row.family;
      g.append(...row.picture(width));
      svg.append(g);
    }
    area.style.height = `${h}px`;
    const part = view.to - view.from < end ? ` of ${duration(end)}` : "";
    range.textContent = inOrder.length
      ? `${view.from ? duration(view.from) : 0} to ${duration(view.to)}${part}`
      : "no calls yet";
    return svg;
  }

  function tell() {
    readout.setAttribute("aria-live", walked ? "polite" : "off");
    const r = here();
    readout.textContent = looked
      ? isCall(looked)
        ? told.callSentence(looked)
        : told.gapSentence(looked)
      : r
        ? told.roundSentence(r)
        : "Hover over a bar for details; click it to select its round. Drag pans, Ctrl + wheel zooms.";
  }

  let frame = 0;
  let fresh = true;
  function soon(changed = false) {
    fresh ||= changed;
    frame ||= requestAnimationFrame(() => {
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
  const zoom = (factor: number, at: number) => look(zoomView(view, factor, at, end));
  const pan = (part: number) => look(panView(view, part * (view.to - view.from), end));
  /** The middle of the selection if in view, else of the view. */
  const centre = () => {
    const s = looked || here();
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

  /** The call, round or gap at a point of the chart, or null. */
  function at(e: PointerEvent) {
    const [x, y] = placeOf(e);
    const found = placed().find(({ row, top }) => y >= top && y < top + row.high);
    return found ? spanAt(found.row.spans, tOf(x), 3 / scale()) : null;
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
    const id = told.roundOf(s);
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
    const r = here();
    let k = isCall(looked) ? inOrder.indexOf(looked) + by : r ? firstEndingAfter(inOrder, r.start_ns) : 0;
    k = Math.max(0, Math.min(inOrder.length - 1, k));
    const call = inOrder[k];
    const id = told.roundOf(call);
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
    if (moved && looked && told.roundOf(looked) !== cursor.round && !area.matches(":hover")) looked = null;
    const r = here();
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
