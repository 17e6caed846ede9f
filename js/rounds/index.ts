// All rounds of a run on one strip: filter them, select several, compare their sums with the whole run.
import { cell, draw, focusable, make } from "../lib/dom";
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

  // --- the filter
  const form = make("div", "hsd-rd-filter");
  form.setAttribute("role", "group");
  form.setAttribute("aria-label", "Filter rounds");
  const selectOf = (label: string, name: "outcome" | "source" | "verdict") => {
    const select = make("select");
    select.setAttribute("aria-label", label);
    select.addEventListener("change", () => set({ ...filter, [name]: select.value }));
    const wrap = make("label", "", label);
    wrap.append(select);
    form.append(wrap);
    return (options: string[][]) => {
      select.replaceChildren(...options.map(([value, words]) => Object.assign(make("option", "", words), { value })));
      select.value = options.some(([value]) => value === filter[name]) ? filter[name] : "";
    };
  };
  const outcomes = selectOf("Outcome", "outcome");
  const sources = selectOf("Draft source", "source");
  const verdicts = selectOf("Draft token", "verdict");
  outcomes([["", "any"], ...OUTCOMES.map((o) => [o, o])]);
  verdicts([["", "any"], ...VERDICTS]);
  const least = make("input");
  Object.assign(least, { type: "number", min: "0", max: "1", step: "0.05", value: "0" });
  least.addEventListener("input", () => set({ ...filter, p: Math.max(0, Math.min(1, Number(least.value) || 0)) }));
  least.setAttribute("aria-label", "Least p of the draft token");
  const p = make("label", "", "with p of at least");
  p.append(least);
  const clear = make("button", "", "Clear");
  clear.addEventListener("click", () => {
    least.value = "0";
    for (const select of form.querySelectorAll("select")) select.value = "";
    group.select([]);
    set({ ...EVERY });
  });
  const said = make("output", "hsd-rd-said");
  form.append(p, clear, said);
  function set(next: Filter) {
    filter = next;
    group.match(matching(store, filter));
  }

  // --- the strip
  const strip = focusable(make("div", "hsd-rd-strip"));
  strip.setAttribute("role", "group");
  const picture = draw("svg", { preserveAspectRatio: "none", "aria-hidden": "true" });
  const marks = draw("path", { class: "hsd-rd-match" });
  const brush = make("div", "hsd-rd-brush");
  const here = make("div", "hsd-rd-here");
  strip.append(picture, brush, here);
  const hint = make(
    "p",
    "hsd-rd-hint",
    "A column is a round, as high as its tokens; grey: the target’s own. Drag over rounds or press [ and ] at the first and the last to select them; click for one round.",
  );
  const table = cell("table", "hsd-rd-sums");
  table.setAttribute("aria-label", "Sums");
  root.append(form, strip, hint, table);

  const count = () => store.order.size;
  const placeOf = (id: number | null) => store.index().placeOf.get(id ?? NaN) ?? -1;
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
    picture.setAttribute("viewBox", `0 0 ${Math.max(1, count())} ${HIGH}`);
    picture.replaceChildren(
      ...[...paths].map(([family, d]) => draw("path", { d, class: "hsd-rd-bar", "data-family": family })),
      marks,
    );
    const found = [...new Set([...store.drafts.values()].flat().map((d) => d.source))];
    sources([["", "any"], ...found.map((s) => [s, palette.words(s)])]);
    strip.setAttribute("aria-label", `Rounds of the run: ${count()}. [ and ] select from the round under the cursor.`);
    root.classList.toggle("hsd-rd-empty", !count());
    show();
  }
  const share = (k: number) => `${(100 * k) / Math.max(1, count())}%`;
  function show() {
    const { matched, selected, round } = group.cursor;
    const places = matched ? [...matched].map(placeOf) : [];
    marks.setAttribute("d", places.map((k) => `M${k} 0h.9v4h-.9z`).join(""));
    picture.classList.toggle("hsd-rd-filtered", matched !== null);
    said.textContent = matched ? `${matched.size} of ${plural(count(), "round")}` : plural(count(), "round");
    const chosen = selected.map(placeOf).filter((k) => k >= 0);
    brush.hidden = !chosen.length;
    if (chosen.length) {
      brush.style.left = share(Math.min(...chosen));
      brush.style.width = share(Math.max(...chosen) - Math.min(...chosen) + 1);
    }
    const at = placeOf(round);
    here.hidden = at < 0;
    here.style.left = share(at);
    here.style.width = share(1);
    sums(chosen.length ? new Set(selected) : null, matched);
  }

  // --- sums
  let drawn = "";
  function sums(selected: ReadonlySet<number> | null, matched: ReadonlySet<number> | null) {
    const columns: [string, Sums][] = [];
    if (selected) columns.push([plural(selected.size, "selected round"), sumsOf(store, selected)]);
    if (matched) columns.push([`${matched.size} matching`, sumsOf(store, matched)]);
    columns.push(["whole run", sumsOf(store, null)]);
    const key = `${store.run}:${store.seq}:${columns.map(([, s]) => [s.rounds, s.tokens, s.ns])}`;
    if (key === drawn) return;
    drawn = key;
    const whole = columns[columns.length - 1][1];
    const ratio = (a: number, b: number, digits = 2) => (b ? (a / b).toFixed(digits) : "–");
    const percent = (a: number, b: number) => (b ? `${Math.round((100 * a) / b)} %` : "–");
    const rows: [string, (s: Sums) => string][] = [
      ["tokens", (s) => String(s.tokens)],
      ["tokens per round", (s) => ratio(s.tokens, s.rounds)],
      ["draft tokens accepted", (s) => `${s.accepted} of ${s.drafted}, ${percent(s.accepted, s.drafted)}`],
      ["time", (s) => `${duration(s.ns)}, ${percent(s.ns, whole.ns)}`],
      ["time per token", (s) => (s.tokens ? duration(s.ns / s.tokens) : "–")],
      ...[...whole.sources.keys()].map((source): [string, (s: Sums) => string] => [
        `from ${palette.phrase(source)}`,
        (s) => `${s.sources.get(source) ?? 0}, ${percent(s.sources.get(source) ?? 0, s.tokens)}`,
      ]),
    ];
    const line = (head: string, cells: string[], role: string) => {
      const row = cell("row", "hsd-rd-row");
      row.append(cell(role === "columnheader" ? role : "rowheader", "", head), ...cells.map((c) => cell(role, "", c)));
      return row;
    };
    table.style.setProperty("--columns", String(columns.length));
    table.replaceChildren(
      line(
        "sum",
        columns.map(([name]) => name),
        "columnheader",
      ),
      ...rows.map(([name, value]) =>
        line(
          name,
          columns.map(([, s]) => value(s)),
          "cell",
        ),
      ),
    );
  }

  // --- pointer and keys
  const under = (e: PointerEvent) => {
    const box = strip.getBoundingClientRect();
    return Math.max(0, Math.min(count() - 1, Math.floor(((e.clientX - box.left) / Math.max(1, box.width)) * count())));
  };
  const idAt = (k: number) => store.index().rounds[k]?.id;
  let from = -1;
  let dragged = false;
  strip.addEventListener("pointerdown", (e) => {
    if (e.button !== 0 || !count()) return;
    strip.setPointerCapture(e.pointerId);
    from = under(e);
    dragged = false;
  });
  strip.addEventListener("pointermove", (e) => {
    if (!count()) return;
    const at = under(e);
    if (from < 0) {
      if (e.pointerType === "mouse") group.hover({ round: idAt(at) });
    } else if (dragged || at !== from) {
      dragged = true;
      group.select(between(store.order, from, at));
    }
  });
  const up = () => {
    if (from >= 0 && !dragged) {
      group.select([]);
      group.pin({ round: idAt(from) });
    }
    from = -1;
  };
  strip.addEventListener("pointerup", up);
  strip.addEventListener("pointercancel", () => {
    from = -1;
  });
  strip.addEventListener("pointerleave", () => {
    if (from < 0) group.hover(null);
  });
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
