// Small tables with bars; a measure's definition is shown on hover or focus.

import { cell, entry, followTheme, make } from "../lib/dom";
import { guarded } from "../lib/notice";
import { term } from "../lib/tip";
import type { Drawing } from "../lib/widget";

interface Key {
  label: string;
  shape: string;
  light?: string;
  dark?: string;
}
interface Row {
  label: string;
  note?: string;
  /** Key, length, words. */
  parts: [string, number, string][];
  cells: string[];
}
interface Panel {
  title: string;
  measure: string;
  definition: string;
  empty: string;
  lead?: string;
  foot?: string;
  legend: string[];
  keys: Record<string, Key>;
  heads: string[];
  end: number | null;
  rows: Row[];
}
interface Traits {
  panels: Panel[];
  /** Words, value, definition. */
  terms: [string, string, string][];
}

/** The length of a full bar: given, or the longest row. */
export function endOf(panel: { end: number | null; rows: Pick<Row, "parts">[] }) {
  const longest = Math.max(0, ...panel.rows.map((r) => r.parts.reduce((sum, part) => sum + part[1], 0)));
  return panel.end || longest || 1;
}

function coloured(node: HTMLElement, key: Key) {
  node.dataset.shape = key.shape;
  if (key.light) {
    node.style.setProperty("--light", key.light);
    node.style.setProperty("--dark", key.dark ?? null);
  }
  return node;
}

function rowOf(panel: Panel, row: Row, end: number) {
  const line = cell("row", "hsd-p-row", undefined);
  const name = cell("rowheader", "hsd-p-name", row.label);
  if (row.note) name.append(make("small", "", row.note));
  const track = cell("cell", "hsd-p-track", undefined);
  const whole = make("div", "hsd-p-bar");
  const total = row.parts.reduce((sum, part) => sum + part[1], 0);
  whole.style.width = `${Math.min(100, (100 * total) / end)}%`;
  for (const [key, value, words] of row.parts) {
    const part = coloured(make("span", "hsd-p-part"), panel.keys[key]);
    part.style.flex = `${value} 1 0`;
    part.title = words;
    whole.append(part);
  }
  // The bar's text alternative lists its parts.
  whole.setAttribute("role", "img");
  whole.setAttribute("aria-label", row.parts.map((part) => part[2]).join(", ") || "none");
  track.append(whole);
  line.append(name, track, ...row.cells.map((text) => cell("cell", "hsd-p-num", text)));
  return line;
}

function panelOf(panel: Panel, id: string) {
  const box = make("section", "hsd-p-panel");
  box.setAttribute("aria-label", panel.title);
  const measure = make("p", "hsd-p-measure");
  measure.append(term(panel.measure, panel.definition, id));
  box.append(make("h3", "", panel.title), measure);
  if (panel.empty || !panel.rows.length) {
    box.append(make("p", "hsd-p-empty", panel.empty));
    return box;
  }
  if (panel.legend.length) {
    const legend = make("ul", "hsd-p-legend");
    if (panel.lead) legend.append(make("li", "", panel.lead));
    for (const key of panel.legend.map((name) => panel.keys[name])) {
      legend.append(entry(coloured(make("span", "hsd-p-key"), key), key.label));
    }
    box.append(legend);
  }
  const table = cell("table", "hsd-p-rows", undefined);
  table.setAttribute("aria-label", panel.title);
  table.style.setProperty("--figures", String(panel.rows[0].cells.length));
  const head = cell("row", "hsd-p-row hsd-p-head", undefined);
  head.append(...panel.heads.map((text, k) => cell("columnheader", k > 1 ? "hsd-p-num" : "", text)));
  const end = endOf(panel);
  table.append(head, ...panel.rows.map((row) => rowOf(panel, row, end)));
  box.append(table);
  if (panel.foot) box.append(make("p", "hsd-p-foot", panel.foot));
  return box;
}

function render({ model, el }: Drawing<Traits>) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const root = make("div", "hsd-panels");
  function redraw() {
    const terms = model.get("terms").map(([words, value, definition], k) => {
      const item = make("span", "hsd-p-fact");
      item.append(term(words, definition, `${uid}-t${k}`), " ", make("strong", "", value));
      return item;
    });
    const line = make("p", "hsd-p-facts");
    line.append(...terms);
    root.replaceChildren(
      ...(terms.length ? [line] : []),
      ...model.get("panels").map((panel, k) => panelOf(panel, `${uid}-${k}`)),
    );
  }
  const unfollow = followTheme(root);
  model.on("change:panels change:terms", redraw);
  el.append(root);
  redraw();
  return () => {
    model.off("change:panels change:terms", redraw);
    unfollow();
    root.remove();
  };
}

export default { render: guarded(render) };
