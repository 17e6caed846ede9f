// The strip of a run over time, in nanoseconds from the start of the decode (rows.ts). A slider
// zooms; the strip scrolls as any wide element does, and draws what is in view.
import { html, nothing, render } from "lit-html";
import type { Cursor } from "../lib/cursor";
import { make, press } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import type { Change } from "../lib/run";
import type { Call } from "../lib/tables";
import { type Acts, pictureTemplate, placed, timelineTemplate } from "./drawing";
import { NO_STRIP, type Show, type Strip, stripOf } from "./rows";
import { createTelling, isCall, isRound, type Shown, servedBy } from "./said";
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

/** The share of the time before the first round from which on a view begins with that round. */
const LONG_PREFILL = 0.1;
/** The room of a span as a multiple of it: of the cursor's round, and of a call walked to. */
const ROOM = { round: 1.16, call: 1.3 };
/** Pixels around a bar in which it is pointed at, and the share of a view that a page scrolls. */
const SLACK = 3;
const PAGE = 0.8;
const LABEL =
  "Timeline. Plus and minus zoom, Page Up and Page Down scroll, 0 shows the whole run; " +
  "up and down move between calls, left and right between events; Enter pins.";
const NO_SELECTION = "Select a bar for its details and its round.";

interface Traits {
  show?: Show;
}

/** The view: its strip, what is in view of it, and what is marked in it. */
class TimelineView {
  private readonly area = make("div", "hsd-tl-area", "", {
    tabindex: 0,
    role: "group",
    "aria-label": LABEL,
  });
  private readonly telling: ReturnType<typeof createTelling>;
  /** Draws with the next frame. */
  private readonly later: () => void;
  private strip: Strip = NO_STRIP;
  /** Whether the run has changed since the strip was made. */
  private isStale = true;
  private zoom = 0;
  /** The call or gap that is marked, and whether it was reached by a key. */
  private looked: Call | TimeSpan | null = null;
  private isWalked = false;
  /** Whether the first view of a whole run has been chosen. */
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
    this.paint(); // puts the area into its place, where it has a width
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

  // --- moving
  private readonly acts: Acts = {
    zoom: (to) => this.zoomTo(to),
    showRound: () => {
      const round = this.round();
      if (round) this.show(round, ROOM.round);
    },
    showAll: () => this.zoomTo(0),
  };

  /** Zoom, and keep the marked span or the middle of the view in its place. */
  private zoomTo(zoom: number) {
    const sight = this.sight();
    const held = heldBy(sight, this.looked ?? this.round() ?? null);
    this.zoomAround(zoom, held, xOf(sight, held));
  }

  /** Zoom so that a time is at a place of the view. */
  private zoomAround(zoom: number, time: number, x: number) {
    this.zoom = clampZoom(zoom);
    this.paint();
    this.area.scrollLeft = time * this.sight().scale - x;
    this.later();
  }

  /** Show a span in the middle of the view, with this much room. */
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

  /** Mark a call or gap; a round has its mark by the cursor. */
  private look(span: Shown | null, byKey = false) {
    const looked = isRound(span) ? null : span;
    if (looked === this.looked) return;
    this.looked = looked;
    this.isWalked = byKey;
    this.later();
  }

  /** Go to the call before or after the marked one, else to the first of the round. */
  private walk(by: number) {
    const { calls } = this.strip;
    const round = this.round();
    let place = 0;
    if (isCall(this.looked)) place = calls.indexOf(this.looked) + by;
    else if (round) place = firstEndingAfter(calls, round.start_ns);
    const call = calls[Math.max(0, Math.min(calls.length - 1, place))];
    if (!call) return;
    const { group } = this.view;
    const top = this.telling.roundOf(call);
    if (top !== null && top !== group.cursor.round) group.go({ round: top });
    this.reveal(call);
    this.looked = null;
    this.look(call, true);
  }

  /** The call, round or gap at a point of the chart, or null. */
  private spanUnder(event: MouseEvent): Shown | null {
    const box = this.area.getBoundingClientRect();
    // Not 1 where a page sets the CSS zoom.
    const zoomed = box.width / this.area.offsetWidth || 1;
    const x = (event.clientX - box.left) / zoomed;
    const y = (event.clientY - box.top) / zoomed;
    const hit = placed(this.strip.rows).find(({ row, top }) => y >= top && y < top + row.high);
    const sight = this.sight();
    return hit ? spanAt(hit.row.spans, timeAt(sight, x), SLACK / sight.scale) : null;
  }

  // --- what is in view
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

  /** The rows of a tab begin with the first round of a whole run: a long prefill is cut. */
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
    const shown = {
      title: model.get("show") === "supply" ? "Tokens by source over time" : "Timeline",
      strip,
      // The strip has its width now, by which it may have been scrolled.
      sight: this.sight(),
      zoom,
      hasRound: round !== undefined,
      words: this.words(),
      isAnnounced: this.isWalked,
    };
    render(timelineTemplate(shown, this.acts, area), root);
  }

  /** The words of what is marked, else of the cursor's round. */
  private words(): string {
    const { looked, telling } = this;
    const round = this.round();
    if (isCall(looked)) return telling.callSentence(looked);
    if (looked) return telling.gapSentence(looked);
    return round ? telling.roundSentence(round) : NO_SELECTION;
  }
}

export default linkedWidget<Traits>((view) => void new TimelineView(view));
