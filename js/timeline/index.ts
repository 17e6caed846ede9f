// The strip of a run over time, in nanoseconds from the start of the decode: target rounds, their
// tokens by source, what each database drafted, a lane of calls per level, and idle time. A slider
// zooms; the strip scrolls as any wide element does, and draws what is in view.
import { html, nothing, render, svg } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { ticks } from "../lib/chart";
import { make, press } from "../lib/dom";
import { slider } from "../lib/fields";
import type { Cursor } from "../lib/group";
import { linkedWidget, type View } from "../lib/linked";
import type { Call, Round } from "../lib/tables";
import { duration } from "../lib/words";
import { callWords, createTelling, isCall, isRound, type Shown, servedBy } from "./said";
import {
  barsOf,
  firstEndingAfter,
  gapsOf,
  lanesOf,
  spanAt,
  suppliesOf,
  type TimeSpan,
  timeWords,
} from "./spans";

const AXIS = 22;
const HIGH = { rounds: 22, tokens: 44, source: 36, calls: 36, idle: 20 };
/** Doublings of the slider. */
const CLOSEST = 12;
/**
 * The share of the time before the first round from which on a view of tokens begins with that
 * round.
 */
const LONG_PREFILL = 0.1;

/**
 * A row of the strip: its label, what can be pointed at, and its picture in a box of its height.
 */
interface Row {
  name: string;
  more: string;
  family?: string;
  high: number;
  spans: TimeSpan[];
  picture(): unknown;
}

/** Which rows are shown: of the tokens and their sources, of the time, or all. */
type Traits = { show?: "supply" | "time" };

function timelineView({
  model,
  root,
  group,
  store,
  palette,
  follow,
  resized,
  soon: within,
}: View<Traits>) {
  root.classList.add("hsd-timeline");
  const label =
    "Timeline. Plus and minus zoom, Page Up and Page Down scroll, 0 shows the whole run; " +
    "up and down move between calls, left and right between events; Enter pins.";
  const area = make("div", "hsd-tl-area", "", { tabindex: 0, role: "group", "aria-label": label });
  const told = createTelling(store, palette);
  const { databases } = model.get("palette");
  const isDatabase = (s: string) => databases.includes(s) || palette.family(s) === "baseline";
  const percent = (x: number) => `${(100 * x).toFixed(x > 0 && x < 0.0995 ? 1 : 0)} %`;
  const here = () => store.rounds.get(group.cursor.round ?? NaN);

  let end = 1;
  let zoom = 0;
  let rows: Row[] = [];
  let inOrder: Call[] = [];
  let note = "";
  let looked: Call | TimeSpan | null = null; // the hovered or focused call or gap
  let walked = false;
  const width = () => Math.max(1, area.clientWidth);
  /** Pixels per nanosecond, and the times in view. */
  const scale = () => (width() * 2 ** zoom) / end;
  const from = () => area.scrollLeft / scale();
  const to = () => Math.min(end, from() + width() / scale());
  const xOf = (t: number) => (t - from()) * scale();

  // --- rows
  /**
   * Path data of a round's column from `low` to `low + high` above the foot of a row; "" out of
   * view.
   */
  function column(r: Round, low: number, high: number, foot: number) {
    if (!high || r.start_ns > to() || r.start_ns + r.duration_ns < from()) return "";
    const w = r.duration_ns * scale();
    const wide = Math.max(0.75, w - (w > 4 ? 1 : 0)).toFixed(1);
    const corner = `M${xOf(r.start_ns).toFixed(1)} ${(foot - low).toFixed(1)}`;
    return `${corner}h${wide}v${(-high).toFixed(1)}h-${wide}z`;
  }
  const word = (x: number, y: number, words: string, cls: string) =>
    svg`<text x=${x} y=${y} class=${cls}>${words}</text>`;
  const bars = (spans: TimeSpan[]) => barsOf(spans, from(), to(), (to() - from()) * scale());
  function rounds(tops: Round[]): Row {
    const picture = () =>
      bars(tops).map((b) => {
        const n = String(store.order.get(tops[b.first].id));
        const fits = b.count === 1 && b.w > 9 + 7 * n.length;
        return svg`<rect x=${b.x} y="2" width=${Math.max(0.75, b.w - (b.w > 4 ? 1 : 0))}
          height=${HIGH.rounds - 5}
          class=${b.count > 1 ? "hsd-tl-round hsd-many" : "hsd-tl-round"}></rect
          >${fits ? word(b.x + (b.w - 1) / 2, 14, n, "hsd-tl-number") : nothing}`;
      });
    return {
      name: "rounds",
      more: String(tops.length || ""),
      high: HIGH.rounds,
      spans: tops,
      picture,
    };
  }
  function tokens(tops: Round[]): Row {
    const { rounds: spans, placeOf } = store.index();
    const most = Math.max(0, ...spans.map((s) => s.count));
    const unit = (HIGH.tokens - 6) / Math.max(1, most);
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
      return [...found].map(
        ([family, d]) => svg`<path class="hsd-tl-token" data-family=${family} d=${d}></path>`,
      );
    };
    return {
      name: "tokens",
      more: `up to ${most} per round`,
      high: HIGH.tokens,
      spans: tops,
      picture,
    };
  }
  const shade = ({ count, busy }: { count: number; busy: number }) =>
    count > 1 ? 0.35 + 0.65 * busy : 1;
  const calls = (all: Call[]) => () =>
    bars(all).map((b) => {
      const c = all[b.first];
      const on = b.count === 1 && c === looked ? " hsd-on" : "";
      const cls = `hsd-tl-call hsd-${b.count > 1 ? "many" : c.kind}${on}`;
      const fits = b.count > 1 ? "" : callWords(c).find((words) => b.w > 8 + 6.6 * words.length);
      return svg`<rect x=${b.x} y="6" width=${b.w} height=${HIGH.calls - 14} class=${cls}
        fill-opacity=${shade(b)}></rect
        >${fits ? word(b.x + b.w / 2, HIGH.calls / 2 + 3, fits, "hsd-tl-word") : nothing}`;
    });
  function gather() {
    const byStart = (a: TimeSpan, b: TimeSpan) => a.start_ns - b.start_ns;
    const tops = [...store.order.keys()].map((id) => store.rounds.get(id) as Round).sort(byStart);
    const target = Math.max(0, ...tops.map((r) => r.level));
    inOrder = [...store.calls].sort(byStart);
    const over = [...inOrder.slice(-1), ...tops.slice(-1)].map((s) => s.start_ns + s.duration_ns);
    end = Math.max(1, ...over, store.meta.wall_ns ?? 0);
    const gaps = gapsOf(inOrder, end);
    const idle = gaps.reduce((sum, g) => sum + g.duration_ns, 0);
    told.supplies = suppliesOf(store, isDatabase, databases);
    const most = Math.max(1, ...told.supplies.flatMap((s) => [...s.drafted.values()]));
    const sum = (counts: Map<number, number>) => [...counts.values()].reduce((a, b) => a + b, 0);
    const supply = [
      ...(store.tokens.length ? [tokens(tops)] : []),
      ...told.supplies.map(({ source, drafted, accepted }) => ({
        name: palette.words(source),
        more: `${sum(accepted)} of ${sum(drafted)} accepted`,
        high: HIGH.source,
        family: palette.family(source),
        spans: tops,
        picture: () =>
          [drafted, accepted].map((counts, k) => {
            const high = (r: Round) => ((counts.get(r.id) ?? 0) / most) * (HIGH.source - 6);
            const d = tops.map((r) => column(r, 0, high(r), HIGH.source)).join("");
            return svg`<path class=${k ? "hsd-tl-accepted" : "hsd-tl-drafted"} d=${d}></path>`;
          }),
      })),
    ];
    const time = [
      ...lanesOf(inOrder, end).map((lane) => ({
        name: lane.name,
        more: `${percent(lane.share)} · ${duration(lane.ns)}`,
        high: HIGH.calls,
        ...(lane.name === "db" || lane.name === "hd"
          ? {}
          : { family: palette.family(lane.level === target ? "target" : lane.name) }),
        spans: lane.calls,
        picture: calls(lane.calls),
      })),
      {
        name: "idle",
        more: percent(idle / end),
        high: HIGH.idle,
        spans: gaps,
        picture: () =>
          bars(gaps).map((b) => {
            const on = gaps[b.first] === looked ? " hsd-on" : "";
            return svg`<rect x=${b.x} y="0" width=${b.w} height=${HIGH.idle - 6}
              class="hsd-tl-idle${on}" fill-opacity=${shade(b)}></rect>`;
          }),
      },
    ];
    const show = model.get("show");
    rows = [rounds(tops), ...(show === "time" ? [] : supply), ...(show === "supply" ? [] : time)];
    const shades = "Pale: drafted tokens of a round, solid: accepted by the first verifier. ";
    const supplied = told.supplies.length ? shades : "";
    const kind = store.levels[0]?.endsWith("(simulated)")
      ? "Simulated: look-ups for likely outcomes beside the verification before"
      : "Calls do not overlap";
    const ofSupply = `Tokens: those that a round emitted, by source. ${supplied}`;
    const share = `Share: the lane’s time over ${duration(end)}, prefill included.`;
    const rest = "idle time is sampling, verification and bookkeeping";
    const ofTime = `${share} ${kind}; ${rest}. Number in a bar: tokens fed.`;
    note = inOrder.length
      ? `${show === "time" ? "" : ofSupply}${show === "supply" ? "" : ofTime}`
      : "";
  }
  /** The rows with their tops. */
  function placed() {
    let top = AXIS;
    return rows.map((row) => {
      top += row.high;
      return { row, top: top - row.high };
    });
  }

  // --- drawing
  function picture(height: number) {
    const w = width();
    const times = ticks(to(), Math.max(2, Math.floor(w / (w < 500 ? 60 : 110))), from());
    const words = timeWords(times);
    const r = here();
    const axis = times.map((t, k) => {
      const x = xOf(t);
      const anchor = x > w - 34 ? "end" : x < 20 ? "start" : "middle";
      return svg`<line x1=${x} x2=${x} y1=${AXIS - 4} y2=${height} class="hsd-tl-tick"></line
        ><text x=${Math.min(w - 2, Math.max(2, x))} y="12" class="hsd-tl-ticktext"
          text-anchor=${anchor}>${words[k]}</text>`;
    });
    const lane = ({ row, top }: ReturnType<typeof placed>[number]) =>
      svg`<g transform="translate(0 ${top})" class="hsd-tl-lane"
        data-family=${row.family ?? nothing}>${row.picture()}</g>`;
    const mark = r
      ? svg`<rect class=${group.cursor.pinned ? "hsd-tl-here hsd-pinned" : "hsd-tl-here"}
        x=${xOf(r.start_ns) - 1} y=${AXIS} rx="3" width=${Math.max(3, r.duration_ns * scale() + 2)}
        height=${height - AXIS - 1}></rect>`
      : nothing;
    const lanes = guard([rows, w, from(), to(), looked], () => placed().map(lane));
    return svg`<svg width=${w} height=${height} viewBox="0 0 ${w} ${height}" aria-hidden="true"
      >${axis}${lanes}${mark}</svg>`;
  }
  function paint() {
    const height = rows.reduce((sum, row) => sum + row.high, AXIS + 6);
    render(
      html`<div class="hsd-tl-wide" .style=${`width: ${width() * 2 ** zoom}px`}>
        ${area.clientWidth ? picture(height) : nothing}
      </div>`,
      area,
    );
    const r = here();
    const title = model.get("show") === "supply" ? "Tokens by source over time" : "Timeline";
    const whole = zoom ? ` of ${duration(end)}` : "";
    const range = `Shown: ${from() ? duration(from()) : 0} to ${duration(to())}${whole}`;
    const names = placed().map(
      ({ row, top }) =>
        html`<div
          class=${row.high < 30 ? "hsd-tl-name hsd-low" : "hsd-tl-name"}
          .style=${`top: ${top}px; height: ${row.high - 4}px`}
        >
          <span class="hsd-tl-who" data-family=${row.family ?? nothing}>${row.name}</span
          ><span class="hsd-tl-share">${row.more}</span>
        </div>`,
    );
    const ofRound = r ? told.roundSentence(r) : "Select a bar for its details and its round.";
    const said = !looked
      ? ofRound
      : isCall(looked)
        ? told.callSentence(looked)
        : told.gapSentence(looked);
    render(
      html`<div class="hsd-tl-bar">
          <h3>
            ${title}
            <span class="hsd-tl-range hsd-note">${inOrder.length ? range : "no calls yet"}</span>
          </h3>
          <div class="hsd-tl-buttons">
            <label>Zoom ${slider(0, CLOSEST, 0.25, zoom, look)}</label>
            <button ?disabled=${!r} @click=${() => r && show(r, 1.16)}>This round</button
            ><button @click=${() => look(0)}>Whole run</button>
          </div>
        </div>
        <div class="hsd-tl-chart">
          <div class="hsd-tl-names">${names}</div>
          ${area}
        </div>
        <p class="hsd-tl-readout" aria-live=${walked ? "polite" : "off"}>${said}</p>
        <p class="hsd-note">${note}</p>`,
      root,
    );
  }
  let fresh = true;
  let opened = false;
  /**
   * Nothing is supplied during prefill: the view of supplies of a whole run begins with its first
   * round.
   */
  function open() {
    const begins = rows[0].spans[0]?.start_ns ?? 0;
    if (opened || model.get("show") !== "supply" || !area.clientWidth || !store.meta.wall_ns)
      return;
    opened = true;
    if (begins < LONG_PREFILL * end) return;
    zoom = Math.log2(end / (end - begins));
    paint();
    area.scrollLeft = begins * scale();
  }
  function now() {
    if (fresh) gather();
    fresh = false;
    paint();
    open();
  }
  const soon = within(now);

  // --- moving
  /** Zoom, and keep a time in its place: the selection's if in view, else the middle. */
  function look(next: number, at?: number) {
    const s = looked ?? here();
    const own = s ? s.start_ns + s.duration_ns / 2 : NaN;
    const kept = at ?? (own >= from() && own <= to() ? own : (from() + to()) / 2);
    const x = at === undefined ? xOf(kept) : width() / 2;
    zoom = Math.max(0, Math.min(CLOSEST, next));
    paint();
    area.scrollLeft = kept * scale() - x;
    soon();
  }
  /** Show a span with this much room. */
  const show = (s: TimeSpan, room: number) =>
    look(Math.log2(end / Math.max(1, room * s.duration_ns)), s.start_ns + s.duration_ns / 2);
  function reveal(s: TimeSpan) {
    if (s.duration_ns > to() - from()) show(s, 1.3);
    else if (s.start_ns < from() || s.start_ns + s.duration_ns > to())
      area.scrollLeft = (s.start_ns + s.duration_ns / 2) * scale() - width() / 2;
  }
  /** The call, round or gap at a point of the chart, or null. */
  function at(e: MouseEvent) {
    const box = area.getBoundingClientRect();
    // Not 1 where a page sets the CSS zoom.
    const zoomed = box.width / area.offsetWidth || 1;
    const [x, y] = [(e.clientX - box.left) / zoomed, (e.clientY - box.top) / zoomed];
    const found = placed().find(({ row, top }) => y >= top && y < top + row.high);
    return found ? spanAt(found.row.spans, from() + x / scale(), 3 / scale()) : null;
  }
  function lookAt(s: Shown | null, byKey = false) {
    const call = isRound(s) ? null : s;
    if (call === looked) return;
    looked = call;
    walked = byKey;
    soon();
  }
  area.addEventListener("scroll", soon, { passive: true });
  area.addEventListener("pointermove", (e) => {
    if (e.pointerType === "touch") return;
    const s = at(e);
    lookAt(s);
    const id = told.roundOf(s);
    group.hover(id === null ? null : { round: id });
  });
  area.addEventListener("pointerleave", () => {
    lookAt(null);
    group.hover(null);
  });
  area.addEventListener("click", (e) => {
    const s = at(e);
    lookAt(s);
    const id = servedBy(s);
    if (id !== null) group.pin({ round: id });
  });
  function walk(by: number) {
    const r = here();
    const k = isCall(looked)
      ? inOrder.indexOf(looked) + by
      : r
        ? firstEndingAfter(inOrder, r.start_ns)
        : 0;
    const call = inOrder[Math.max(0, Math.min(inOrder.length - 1, k))];
    if (!call) return;
    const id = told.roundOf(call);
    if (id !== null && id !== group.cursor.round) group.go({ round: id });
    reveal(call);
    looked = null;
    lookAt(call, true);
  }
  area.addEventListener("keydown", (e) => {
    const page = (by: number) => () => area.scrollBy({ left: by * width() });
    const keys: Record<string, () => void> = {
      "+": () => look(zoom + 1),
      "=": () => look(zoom + 1),
      "-": () => look(zoom - 1),
      0: () => look(0),
      PageUp: page(-0.8),
      PageDown: page(0.8),
      ArrowDown: () => walk(1),
      ArrowUp: () => walk(-1),
    };
    press(e, keys, true);
  });

  // --- life
  follow(
    (what) => {
      if (what === "reset") {
        looked = null;
        zoom = 0;
        opened = false;
      }
      fresh = true;
      soon();
    },
    (cursor: Cursor, before: Cursor) => {
      const moved = cursor.round !== before.round;
      const inside = area.matches(":hover");
      if (moved && looked && told.roundOf(looked) !== cursor.round && !inside) looked = null;
      const r = here();
      // Hovering in other views must not scroll the timeline.
      if (moved && r && !cursor.hover && !inside) reveal(r);
      soon();
    },
  );
  paint(); // puts the area into its place, where it has a width
  now();
  resized(area, soon);
}

export default linkedWidget(timelineView);
