// All rounds of a run on one strip: filter them, select several, compare their sums with the whole run.
import { html, render, svg } from "lit-html";
import { live } from "lit-html/directives/live.js";
import type { Cursor } from "../lib/group";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Change } from "../lib/run";
import { duration, plural } from "../lib/words";
import { between, EVERY, type Filter, matching, type Sums, sumsOf } from "./filter";

const HIGH = 56;
const OUTCOMES = ["correction", "bonus", "plain", "stopped"];
const VERDICTS = [
  ["rejected", "rejected"],
  ["accepted", "accepted"],
  ["unreached", "not examined"],
];

function roundsView({ root, group, store, palette, follow }: View<object>) {
  root.classList.add("hsd-rounds");
  let filter: Filter = { ...EVERY };

  function set(next: Filter) {
    filter = next;
    group.match(matching(store, filter));
  }
  // --- the filter
  const selectOf = (label: string, name: "outcome" | "source" | "verdict", options: string[][]) =>
    html`<label>${label}<select
      aria-label=${label}
      @change=${(e: { target: HTMLSelectElement }) => set({ ...filter, [name]: e.target.value })}
    >${[["", "any"], ...options].map(
      ([value, words]) => html`<option value=${value} .selected=${live(value === filter[name])}>${words}</option>`,
    )}</select></label>`;
  const least = ({ target }: { target: HTMLInputElement }) =>
    set({ ...filter, p: Math.max(0, Math.min(1, Number(target.value) || 0)) });
  const clear = (e: { target: HTMLElement }) => {
    const field = e.target.closest(".hsd-rd-filter")?.querySelector("input");
    if (field) field.value = "0";
    group.select([]);
    set({ ...EVERY });
    show();
  };

  const count = () => store.order.size;
  const placeOf = (id: number | null) => store.index().placeOf.get(id ?? NaN) ?? -1;
  /** Bars by source family, as path data. */
  let bars: [family: string, d: string][] = [];
  let sources: string[] = [];
  function paint() {
    const spans = store.index().rounds;
    const most = Math.max(1, ...spans.map((s) => s.count));
    const paths = new Map<string, string>();
    spans.forEach((span, k) => {
      let y = HIGH;
      for (let i = span.first; i < span.first + span.count; i++) {
        const family = palette.family(store.tokens[i].source);
        const high = (HIGH - 6) / most;
        y -= high;
        paths.set(family, `${paths.get(family) ?? ""}M${k} ${y.toFixed(2)}h.9v${high.toFixed(2)}h-.9z`);
      }
    });
    bars = [...paths];
    sources = [...new Set([...store.drafts.values()].flat().map((d) => d.source))];
    root.classList.toggle("hsd-rd-empty", !count());
    show();
  }
  const share = (from: number, to = from) => {
    const part = (k: number) => `${(100 * k) / Math.max(1, count())}%`;
    return from < 0 ? "" : `left: ${part(from)}; width: ${part(to - from + 1)}`;
  };
  function show() {
    const { matched, selected, round } = group.cursor;
    const marks = [...(matched ?? [])].map((id) => `M${placeOf(id)} 0h.9v4h-.9z`).join("");
    const chosen = selected.map(placeOf).filter((k) => k >= 0);
    const at = placeOf(round);
    render(
      html`<div class="hsd-rd-filter" role="group" aria-label="Filter rounds">
          ${selectOf(
            "Outcome",
            "outcome",
            OUTCOMES.map((o) => [o, o]),
          )}
          ${selectOf(
            "Draft source",
            "source",
            sources.map((s) => [s, palette.words(s)]),
          )}
          ${selectOf("Draft token", "verdict", VERDICTS)}
          <label>with p of at least<input
            type="number" min="0" max="1" step="0.05" value="0" aria-label="Least p of the draft token" @input=${least}
          ></label>
          <button @click=${clear}>Clear</button>
          <output class="hsd-rd-said">${matched ? `${matched.size} of ` : ""}${plural(count(), "round")}</output>
        </div>
        <div
          class="hsd-rd-strip" tabindex="0" role="group"
          aria-label="Rounds of the run: ${count()}. [ and ] select from the round under the cursor."
          @pointerdown=${down} @pointermove=${move} @pointerup=${up} @pointercancel=${() => (from = -1)}
          @pointerleave=${() => from < 0 && group.hover(null)}
        >
          <svg
            class=${matched ? "hsd-rd-filtered" : ""} viewBox="0 0 ${Math.max(1, count())} ${HIGH}"
            preserveAspectRatio="none" aria-hidden="true"
          >${bars.map(([family, d]) => svg`<path class="hsd-rd-bar" data-family=${family} d=${d}></path>`)}<path
            class="hsd-rd-match" d=${marks}></path></svg>
          <div class="hsd-rd-brush" ?hidden=${!chosen.length} .style=${
            chosen.length ? share(Math.min(...chosen), Math.max(...chosen)) : ""
          }></div>
          <div class="hsd-rd-here" ?hidden=${at < 0} .style=${share(at)}></div>
        </div>
        <p class="hsd-rd-hint">A column is a round, as high as its tokens; grey: the target’s own. Drag over rounds or press [ and ] at the first and the last to select them; click for one round.</p>
        ${sums(chosen.length ? new Set(selected) : null, matched)}`,
      root,
    );
  }

  // --- sums
  function sums(selected: ReadonlySet<number> | null, matched: ReadonlySet<number> | null) {
    const columns: [string, Sums][] = [];
    if (selected) columns.push([plural(selected.size, "selected round"), sumsOf(store, selected)]);
    if (matched) columns.push([`${matched.size} matching`, sumsOf(store, matched)]);
    const whole = sumsOf(store, null);
    columns.push(["whole run", whole]);
    const ratio = (a: number, b: number, digits = 2) => (b ? (a / b).toFixed(digits) : "–");
    const percent = (a: number, b: number) => (b ? `${Math.round((100 * a) / b)} %` : "–");
    const line = (head: string, value: (s: Sums) => string) =>
      html`<div role="row" class="hsd-rd-row"><div role="rowheader">${head}</div>${columns.map(
        ([, s]) => html`<div role="cell">${value(s)}</div>`,
      )}</div>`;
    return html`<div role="table" class="hsd-rd-sums" aria-label="Sums" .style=${`--columns: ${columns.length}`}>
      <div role="row" class="hsd-rd-row">${["sum", ...columns.map(([name]) => name)].map(
        (name) => html`<div role="columnheader">${name}</div>`,
      )}</div>
      ${line("tokens", (s) => String(s.tokens))}
      ${line("tokens per round", (s) => ratio(s.tokens, s.rounds))}
      ${line("draft tokens accepted", (s) => `${s.accepted} of ${s.drafted}, ${percent(s.accepted, s.drafted)}`)}
      ${line("time", (s) => `${duration(s.ns)}, ${percent(s.ns, whole.ns)}`)}
      ${line("time per token", (s) => (s.tokens ? duration(s.ns / s.tokens) : "–"))}
      ${[...whole.sources.keys()].map((source) =>
        line(`from ${palette.phrase(source)}`, ({ sources, tokens }) => {
          const n = sources.get(source) ?? 0;
          return `${n}, ${percent(n, tokens)}`;
        }),
      )}
    </div>`;
  }

  // --- pointer and keys
  const under = (e: PointerEvent) => {
    const box = (e.currentTarget as HTMLElement).getBoundingClientRect();
    return Math.max(0, Math.min(count() - 1, Math.floor(((e.clientX - box.left) / Math.max(1, box.width)) * count())));
  };
  const idAt = (k: number) => store.index().rounds[k]?.id;
  let from = -1;
  let dragged = false;
  const down = (e: PointerEvent) => {
    if (e.button !== 0 || !count()) return;
    (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
    from = under(e);
    dragged = false;
  };
  const move = (e: PointerEvent) => {
    if (!count()) return;
    const at = under(e);
    if (from < 0) {
      if (e.pointerType === "mouse") group.hover({ round: idAt(at) });
    } else if (dragged || at !== from) {
      dragged = true;
      group.select(between(store.order, from, at));
    }
  };
  const up = () => {
    if (from >= 0 && !dragged) {
      group.select([]);
      group.pin({ round: idAt(from) });
    }
    from = -1;
  };
  let first = -1;
  root.addEventListener("keydown", (e) => {
    if (
      (e.key !== "[" && e.key !== "]") ||
      e.ctrlKey ||
      e.metaKey ||
      e.altKey ||
      (e.target as Element).closest("input")
    )
      return;
    const at = Math.max(0, placeOf(group.cursor.round));
    if (e.key === "[" || first < 0) first = at;
    group.select(between(store.order, first, at));
    e.preventDefault();
    e.stopPropagation();
  });

  let waiting = 0;
  const onStore = (what: Change) => {
    if (what === "reset") {
      first = -1;
      paint();
      if (filter !== EVERY) set(filter);
      return;
    }
    waiting ||= setTimeout(() => {
      waiting = 0;
      paint();
    }, 300);
  };
  const onCursor = (now: Cursor, before: Cursor) => {
    if (now.matched !== before.matched || now.selected !== before.selected || now.round !== before.round) show();
  };
  follow(onStore, onCursor);
  paint();
  return () => clearTimeout(waiting);
}

export default linkedWidget(roundsView);
