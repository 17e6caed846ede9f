// The view of a run over time, as a strip of rows (rows.ts) in nanoseconds from the start of the
// decode. A slider zooms; the strip scrolls as a wide element, and only its visible part is drawn.
import { html, nothing, render } from "lit-html";
import type { Cursor } from "../lib/cursor";
import { make, press } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import type { Change } from "../lib/run";
import type { Call } from "../lib/tables";
import { pictureTemplate, placed, type TimelineActions, timelineTemplate } from "./drawing";
import { NO_STRIP, type Show, type Strip, stripOf } from "./rows";
import { createTelling, isCall, isRound, type SelectableSpan, servedBy } from "./said";
import {
  clampZoom,
  heldBy,
  middleOf,
  revealing,
  type Sight,
  sightOf,
  timeAt,
  xOf,
  zoomFor,
} from "./sight";
import { firstEndingAfter, spanAt, type TimeSpan } from "./spans";

/** Share of the time before the first round from which the initial view begins with that round. */
const LONG_PREFILL = 0.1;
/** Width of the view as a multiple of a span: for the cursor's round, and for a selected call. */
const ROOM = { round: 1.16, call: 1.3 };
/** Pixels around a bar within which it is hit, and the share of a view that a page key scrolls. */
const SLACK = 3;
const PAGE = 0.8;
const LABEL =
  "Timeline. Plus and minus zoom, Page Up and Page Down scroll, 0 shows the whole run; " +
  "up and down move between calls, left and right between events; Enter pins.";
const NO_SELECTION = "Select a bar for its details and its round.";

interface Traits {
  show?: Show;
}

/** The view: its strip, the visible part of it, and the marked span. */
class TimelineView {
  private readonly area = make("div", "hsd-tl-area", "", {
    tabindex: 0,
    role: "group",
    "aria-label": LABEL,
  });
  private readonly telling: ReturnType<typeof createTelling>;
  /** Draws in the next animation frame. */
  private readonly later: () => void;
  private strip: Strip = NO_STRIP;
  /** Whether the run has changed since the strip was computed. */
  private isStale = true;
  private zoom = 0;
  /** The marked call or gap, and whether it was reached by a key. */
  private looked: Call | TimeSpan | null = null;
  private isWalked = false;
  /** Whether the initial view of the complete run has been set. */
  private isOpened = false;

  constructor(private readonly view: View<Traits>) {
    const { root, store, palette } = view;
    root.classList.add("hsd-timeline");
    this.telling = createTelling(store, palette);
    this.later = view.soon(() => this.draw());
    this.listen();
    view.follow(
      (what) => this.onStore(what),
      (cursor, before) => this.onCursor(cursor, before),
    );
    this.paint(); // attaches the area, so that it has a width
    this.draw();
    view.resized(this.area, this.later);
  }

  // --- events
  private listen() {
    const { area } = this;
    area.addEventListener("scroll", this.later, { passive: true });
    area.addEventListener("pointermove", (event) => this.onPointer(event));
    area.addEventListener("pointerleave", () => {
      this.look(null);
      this.view.group.hover(null);
    });
    area.addEventListener("click", (event) => this.onClick(event));
    area.addEventListener("keydown", (event) => this.onKey(event));
  }

  private onPointer(event: PointerEvent) {
    if (event.pointerType === "touch") return;
    const span = this.spanUnder(event);
    this.look(span);
    const round = this.telling.roundOf(span);
    this.view.group.hover(round === null ? null : { round });
  }

  private onClick(event: MouseEvent) {
    const span = this.spanUnder(event);
    this.look(span);
    const round = servedBy(span);
    if (round !== null) this.view.group.pin({ round });
  }

  private onKey(event: KeyboardEvent) {
    const page = (by: number) => this.area.scrollBy({ left: by * this.sight().width });
    const keys: Record<string, () => void> = {
      "+": () => this.zoomTo(this.zoom + 1),
      "=": () => this.zoomTo(this.zoom + 1),
      "-": () => this.zoomTo(this.zoom - 1),
      0: () => this.zoomTo(0),
      PageUp: () => page(-PAGE),
      PageDown: () => page(PAGE),
      ArrowDown: () => this.walk(1),
      ArrowUp: () => this.walk(-1),
    };
    press(event, keys, true);
  }

  private onStore(what: Change) {
    if (what === "reset") {
      this.looked = null;
      this.zoom = 0;
      this.isOpened = false;
    }
    this.isStale = true;
    this.later();
  }

  private onCursor(cursor: Cursor, before: Cursor) {
    const hasMoved = cursor.round !== before.round;
    const isInside = this.area.matches(":hover");
    if (hasMoved && !isInside && this.telling.roundOf(this.looked) !== cursor.round)
      this.looked = null;
    const round = this.round();
    // Hovering in other views must not scroll the timeline.
    if (hasMoved && round && !cursor.hover && !isInside) this.reveal(round);
    this.later();
  }

  // --- navigation
  private readonly actions: TimelineActions = {
    zoom: (to) => this.zoomTo(to),
    showRound: () => {
      const round = this.round();
      if (round) this.show(round, ROOM.round);
    },
    showAll: () => this.zoomTo(0),
  };

  /** Zoom around the marked span or the middle of the view. */
  private zoomTo(zoom: number) {
    const sight = this.sight();
    const held = heldBy(sight, this.looked ?? this.round() ?? null);
    this.zoomAround(zoom, held, xOf(sight, held));
  }

  /** Zoom so that a time is `x` pixels from the left of the view. */
  private zoomAround(zoom: number, time: number, x: number) {
    this.zoom = clampZoom(zoom);
    this.paint();
    this.area.scrollLeft = time * this.sight().scale - x;
    this.later();
  }

  /** Show a span in the middle of a view that is `room` times as wide. */
  private show(span: TimeSpan, room: number) {
    const zoom = zoomFor(this.strip.end, room * span.duration_ns);
    this.zoomAround(zoom, middleOf(span), this.sight().width / 2);
  }

  private reveal(span: TimeSpan) {
    const sight = this.sight();
    const how = revealing(sight, span);
    if (how === "zoom") this.show(span, ROOM.call);
    if (how === "scroll") this.area.scrollLeft = middleOf(span) * sight.scale - sight.width / 2;
  }

  /** Mark a call or gap; for a round, move the cursor, which marks it. */
  private look(span: SelectableSpan | null, byKey = false) {
    const looked = isRound(span) ? null : span;
    if (looked === this.looked) return;
    this.looked = looked;
    this.isWalked = byKey;
    this.later();
  }

  /** Select the call `by` places from the marked one, else the first call of the round. */
  private walk(by: number) {
    const { calls } = this.strip;
    const round = this.round();
    let index = 0;
    if (isCall(this.looked)) index = calls.indexOf(this.looked) + by;
    else if (round) index = firstEndingAfter(calls, round.start_ns);
    const call = calls[Math.max(0, Math.min(calls.length - 1, index))];
    if (!call) return;
    const { group } = this.view;
    const top = this.telling.roundOf(call);
    if (top !== null && top !== group.cursor.round) group.go({ round: top });
    this.reveal(call);
    this.looked = null;
    this.look(call, true);
  }

  /** Return the call, round or gap at a point of the chart, or null. */
  private spanUnder(event: MouseEvent): SelectableSpan | null {
    const box = this.area.getBoundingClientRect();
    // Different from 1 if the page sets the CSS zoom.
    const zoomed = box.width / this.area.offsetWidth || 1;
    const x = (event.clientX - box.left) / zoomed;
    const y = (event.clientY - box.top) / zoomed;
    const hit = placed(this.strip.rows).find(({ row, top }) => y >= top && y < top + row.high);
    const sight = this.sight();
    return hit ? spanAt(hit.row.spans, timeAt(sight, x), SLACK / sight.scale) : null;
  }

  // --- the visible part
  private round() {
    const { store, group } = this.view;
    return store.rounds.get(group.cursor.round ?? NaN);
  }

  private sight(): Sight {
    const { area, strip, zoom } = this;
    return sightOf(strip.end, Math.max(1, area.clientWidth), zoom, area.scrollLeft);
  }

  // --- drawing
  private draw() {
    if (this.isStale) this.makeStrip();
    this.paint();
    this.skipPrefill();
  }

  private makeStrip() {
    const { store, palette, model } = this.view;
    this.strip = stripOf(store, palette, model.get("palette").databases, model.get("show"));
    this.telling.supplies = this.strip.supplies;
    this.telling.zero = this.strip.zero;
    this.isStale = false;
  }

  /** Scroll past a long prefill, so that the view of a complete run begins with its first round. */
  private skipPrefill() {
    const { view, area, strip } = this;
    const isOfTab = view.model.get("show") !== undefined;
    if (this.isOpened || !isOfTab || !area.clientWidth || !view.store.meta.wall_ns) return;
    this.isOpened = true;
    const begin = strip.rows[0].spans[0]?.start_ns ?? 0;
    if (begin < LONG_PREFILL * strip.end) return;
    this.zoom = zoomFor(strip.end, strip.end - begin);
    this.paint();
    area.scrollLeft = begin * this.sight().scale;
  }

  private paint() {
    const { area, strip, zoom, looked } = this;
    const { root, group, model } = this.view;
    const round = this.round();
    const sight = this.sight();
    const picture = { strip, sight, looked, round, isPinned: group.cursor.pinned };
    render(
      html`<div class="hsd-tl-wide" .style=${`width: ${sight.width * 2 ** zoom}px`}>
        ${area.clientWidth ? pictureTemplate(picture) : nothing}
      </div>`,
      area,
    );
    const surroundings = {
      title: model.get("show") === "supply" ? "Tokens by source over time" : "Timeline",
      strip,
      // The strip has its final width only now, which may have scrolled it.
      sight: this.sight(),
      zoom,
      hasRound: round !== undefined,
      words: this.words(),
      isAnnounced: this.isWalked,
    };
    render(timelineTemplate(surroundings, this.actions, area), root);
  }

  /** Describe the marked call or gap, else the cursor's round. */
  private words(): string {
    const { looked, telling } = this;
    const round = this.round();
    if (isCall(looked)) return telling.callSentence(looked);
    if (looked) return telling.gapSentence(looked);
    return round ? telling.roundSentence(round) : NO_SELECTION;
  }
}

export default linkedWidget<Traits>((view) => void new TimelineView(view));
