// Stacked bars by source, with values.

import { cell, entry, followTheme, hued, make } from "../lib/dom";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

interface Hue {
  label: string;
  light: string;
  dark: string;
  own?: boolean;
}
type Hues = Record<string, Hue>;
/** `parts`: source, value, words, and text if not the value. */
interface Row {
  label: string;
  note?: string;
  code?: boolean;
  chosen?: boolean;
  parts: [string, number, string, string?][];
  cells: string[];
}
interface BarGroup {
  title?: string;
  what: string;
  unit: string;
  end?: number;
  bare?: boolean;
  columns?: string[];
  rows: Row[];
  more?: Row[];
}
interface Spec {
  title: string;
  text?: string;
  source?: string;
  hues: Hues;
  columns: string[];
  groups: BarGroup[];
}
interface Traits {
  spec: Spec;
}

const ROOM = 34; // pixels for a value inside a bar

function bar(row: Row, end: number, hues: Hues) {
  const track = make("div", "hsd-d-track");
  track.setAttribute("aria-hidden", "true");
  const whole = make("div", "hsd-d-bar");
  const total = row.parts.reduce((sum, [, v]) => sum + v, 0);
  whole.style.width = `${Math.min(100, (100 * total) / end)}%`;
  for (const [key, value, words, text] of row.parts) {
    const part = hued(make("span", "hsd-d-part"), hues[key]);
    part.style.flex = `${value} 1 0`;
    part.title = words;
    part.dataset.value = text || value.toFixed(2);
    whole.append(part);
  }
  track.append(whole);
  return track;
}

function group(g: BarGroup, columns: string[], hues: Hues) {
  const box = make("div", "hsd-d-group");
  if (g.title) box.append(make("h4", "", g.title));
  const end = g.end || Math.max(...g.rows.map((r) => r.parts.reduce((sum, [, v]) => sum + v, 0)), 1e-9);
  box.append(rows(g, g.rows, g.bare, end, columns, hues));
  if (g.more?.length) {
    const rest = make("details", "hsd-d-more");
    rest.append(
      make("summary", "", g.more.length === 1 ? `1 more ${g.what}` : `${g.more.length} more ${g.what}s`),
      rows(g, g.more, true, end, columns, hues),
    );
    box.append(rest);
  }
  return box;
}

function rows(g: BarGroup, lines: Row[], bare: boolean | undefined, end: number, columns: string[], hues: Hues) {
  const table = cell("table", "hsd-d-rows");
  table.setAttribute("aria-label", `${g.title || g.what}: ${g.unit}`);
  const heads = g.columns || columns;
  table.style.setProperty("--columns", String(heads.length));
  const head = cell("row", bare ? "hsd-d-row hsd-d-head hsd-d-bare" : "hsd-d-row hsd-d-head");
  const unit = make("div", "", g.unit);
  unit.setAttribute("aria-hidden", "true");
  head.append(cell("columnheader", "", g.what), unit, ...heads.map((h) => cell("columnheader", "hsd-num", h)));
  table.append(head);
  for (const r of lines) {
    const row = cell("row", r.chosen ? "hsd-d-row hsd-chosen" : "hsd-d-row");
    const name = cell("rowheader", "hsd-d-name");
    name.append(make(r.code ? "code" : "span", "", r.label));
    if (r.note) name.append(make("small", "", r.note));
    row.append(name, bar(r, end, hues), ...r.cells.map((c, k) => cell("cell", "hsd-num", c, heads[k])));
    table.append(row);
  }
  return table;
}

function render({ model, el }: Drawing<Traits>) {
  const root = make("section", "hsd-latency hsd-d-bars");
  el.append(root);
  function fit() {
    for (const part of root.querySelectorAll<HTMLElement>(".hsd-d-part")) {
      part.textContent = part.getBoundingClientRect().width >= ROOM ? (part.dataset.value ?? "") : "";
    }
  }
  function redraw() {
    const s = model.get("spec");
    root.replaceChildren();
    if (!s.groups) return;
    root.setAttribute("aria-label", s.title);
    root.append(make("h3", "", s.title));
    if (s.text) root.append(make("p", "hsd-d-read", s.text));
    const legend = make("ul", "hsd-d-legend");
    for (const hue of Object.values(s.hues)) {
      legend.append(entry(hued(make("span", "hsd-d-key"), hue), hue.label));
    }
    // The label column is as wide as its longest label, at 8 px per character.
    const longest = Math.max(...s.groups.flatMap((g) => [...g.rows, ...(g.more || [])].map((r) => r.label.length)));
    root.style.setProperty("--label", `min(30%, ${8 * longest + 8}px)`);
    root.append(legend, ...s.groups.map((g) => group(g, s.columns, s.hues)));
    if (s.source) root.append(make("p", "hsd-source", s.source));
    fit();
  }
  const unfollow = followTheme(root, { behind: "--paper" });
  const resized = new ResizeObserver(fit); // also when a collapsed group is opened
  resized.observe(root);
  model.on("change:spec", redraw);
  redraw();
  return () => {
    model.off("change:spec", redraw);
    resized.disconnect();
    unfollow();
    root.remove();
  };
}

export default { render: guarded(render) };
