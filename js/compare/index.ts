// Predicted and measured values by row.

import { cell, entry, followTheme, make } from "../lib/dom";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Row {
  label: string;
  code?: boolean;
  chosen?: boolean;
  note?: string;
  tags: [string, string][];
  hue?: { light: string; dark: string } | null;
  predicted?: number | null;
  measured?: number | null;
  low?: number | null;
  high?: number | null;
  off?: number | null;
}
interface RowGroup {
  title?: string;
  what: string;
  unit: string;
  rows: Row[];
}
interface Spec {
  title: string;
  text?: string;
  source?: string;
  legend: [string, string][];
  groups: RowGroup[];
}
interface Traits {
  spec: Spec;
}

const known = (v: number | null | undefined) => v !== null && v !== undefined;
const figure = (v: number | null | undefined) =>
  !known(v) ? "–" : v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 0.1 ? v.toFixed(2) : v.toFixed(3);
const percent = (v: number | null | undefined) =>
  !known(v) ? "–" : Math.abs(v) < 0.005 ? "0 %" : `${v > 0 ? "+" : "−"}${Math.abs(100 * v).toFixed(0)} %`;

/** The end of the scale; an outlier does not flatten the other rows. */
function scaleEnd(rows: Row[]) {
  const all = rows
    .flatMap((r) => [r.predicted, r.measured, r.high])
    .filter(known)
    .sort((a, b) => a - b);
  const largest = all[all.length - 1] || 1;
  const usual = all[Math.floor(all.length / 2)] || largest;
  return (largest > 8 * usual ? 4 * usual : largest) * 1.02;
}

function scale(r: Row, end: number, dark: boolean) {
  const track = make("div", "hsd-scale");
  track.setAttribute("aria-hidden", "true");
  const at = (v: number) => `${Math.min(100, (100 * v) / end)}%`;
  if (r.hue) track.style.setProperty("--c", dark ? r.hue.dark : r.hue.light);
  if (known(r.predicted)) {
    const bar = make("span", "hsd-law");
    bar.style.width = at(r.predicted);
    track.append(bar);
  }
  if (known(r.measured)) {
    if (known(r.low) && known(r.high)) {
      const whisker = make("span", "hsd-whisker");
      whisker.style.left = at(r.low);
      whisker.style.right = `calc(100% - ${at(r.high)})`;
      track.append(whisker);
    }
    const dot = make("span", "hsd-run");
    dot.style.left = at(r.measured);
    track.append(dot);
  }
  if (Math.max(r.predicted || 0, r.measured || 0) > end) track.append(make("span", "hsd-over", "beyond →"));
  return track;
}

function group(g: RowGroup, dark: boolean) {
  const box = make("div", "hsd-group");
  if (g.title) box.append(make("h4", "", g.title));
  const table = cell("table", "hsd-rows");
  table.setAttribute("aria-label", g.title ? `${g.title}, ${g.unit}` : g.unit);
  const measured = g.rows.some((r) => known(r.measured));
  table.classList.toggle("hsd-law-only", !measured);
  const head = cell("row", "hsd-row hsd-head");
  // The values beside the bars are their text alternative.
  const unit = make("div", "", g.unit);
  unit.setAttribute("aria-hidden", "true");
  head.append(cell("columnheader", "", g.what), unit, cell("columnheader", "hsd-num", "predicted"));
  if (measured) head.append(cell("columnheader", "hsd-num", "measured"), cell("columnheader", "hsd-num", "law error"));
  table.append(head);
  const end = scaleEnd(g.rows);
  for (const r of g.rows) {
    const row = cell("row", r.chosen ? "hsd-row hsd-chosen" : "hsd-row");
    const name = cell("rowheader", "hsd-row-name");
    name.append(make(r.code ? "code" : "span", "", r.label));
    for (const [kind, words] of r.tags) name.append(make("span", `hsd-tag hsd-tag-${kind}`, words));
    if (r.note) name.append(make("span", "hsd-note", r.note));
    const interval = known(r.low) && known(r.high) ? `95 % interval ${figure(r.low)} to ${figure(r.high)}` : "";
    const run = cell("cell", "hsd-num", figure(r.measured), "measured");
    if (interval) run.title = interval;
    row.append(name, scale(r, end, dark), cell("cell", "hsd-num", figure(r.predicted), "predicted"));
    if (measured) row.append(run, cell("cell", "hsd-num", percent(r.off), "law error"));
    table.append(row);
  }
  box.append(table);
  return box;
}

function render({ model, el }: Drawing<Traits>) {
  const root = make("section", "hsd-latency hsd-compare");
  el.append(root);
  function redraw() {
    const s = model.get("spec");
    root.replaceChildren();
    if (!s.groups) return;
    root.setAttribute("aria-label", s.title);
    root.append(make("h3", "", s.title));
    const legend = make("ul", "hsd-compare-legend");
    for (const [kind, words] of s.legend) {
      const key = make("span", `hsd-key-${kind}`);
      if (kind === "run") {
        const whisker = make("span", "hsd-whisker");
        whisker.style.cssText = "left: 0; right: 0; top: 5px";
        const dot = make("span", "hsd-run");
        dot.style.cssText = "left: 50%; top: 1px";
        key.append(whisker, dot);
      }
      legend.append(entry(key, words));
    }
    root.append(legend);
    const dark = root.classList.contains("hsd-dark");
    for (const g of s.groups) root.append(group(g, dark));
    if (s.text) {
      const p = make("p", "hsd-note", s.text);
      p.style.marginTop = "12px";
      root.append(p);
    }
    if (s.source) root.append(make("p", "hsd-source", s.source));
  }
  const unfollow = followTheme(root, { behind: "--paper", changed: redraw });
  model.on("change:spec", redraw);
  return () => {
    model.off("change:spec", redraw);
    unfollow();
    root.remove();
  };
}

export default { render: guarded(render) };
