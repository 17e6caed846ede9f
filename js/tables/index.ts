// A bench report: summary and tables (the first one open).

import { followTheme, make } from "../lib/dom";
import { guarded } from "../lib/notice";
import type { Drawing } from "../lib/widget";

/** A cell: text, and small text below. */
type Cell = [string, string?];
interface Table {
  title: string;
  note?: string;
  said?: string;
  head: string[];
  rows: Cell[][];
  kinds: (string | null)[];
  marks: (string | null)[];
  folds?: boolean;
}
interface Spec {
  answer?: [string, boolean][];
  warnings?: string[];
  intro?: string[];
  tables?: Table[];
  colours?: Record<string, string[]>;
}
interface Traits {
  spec: Spec;
}

const FIRST = 3,
  SECOND = 6; // columns shown on a phone and in half a window, by importance
const numeric = (cell: string) => /^[-–]?[\d.,]*\d/.test(cell) || cell === "-" || cell === "–";

function key(kind: string) {
  const square = make("span", "hsd-report-key");
  square.style.setProperty("--key", `var(--kind-${kind})`);
  square.setAttribute("aria-hidden", "true");
  return square;
}

function stackCell(name: string, kind: string | null, mark: string | null) {
  const node = make("th");
  const words = make("div");
  words.append(make("code", "", name));
  if (mark) words.append(make("small", "", mark));
  const line = make("div", "hsd-report-stack");
  if (kind) line.append(key(kind));
  line.append(words);
  node.append(line);
  node.scope = "row";
  return node;
}

function table({ title, head, rows, kinds, marks, folds }: Table) {
  const wrap = make("div", folds ? "hsd-report-table hsd-folded" : "hsd-report-table");
  wrap.tabIndex = 0;
  wrap.setAttribute("role", "region");
  wrap.setAttribute("aria-label", title);
  const t = make("table");
  // Numeric columns are right-aligned.
  const right = head.map((_, k) => k > 0 && rows.every((row) => numeric(row[k][0])));
  const classes = head.map((_, k) =>
    [right[k] ? "hsd-num" : "", folds && k >= FIRST ? (k < SECOND ? "hsd-second" : "hsd-second hsd-third") : ""]
      .join(" ")
      .trim(),
  );
  const top = make("tr");
  head.forEach((name, k) => {
    const node = make("th", classes[k], name);
    node.scope = "col";
    top.append(node);
  });
  const thead = make("thead"),
    tbody = make("tbody");
  thead.append(top);
  rows.forEach((cells, i) => {
    const tr = make("tr", kinds[i] === "plain" ? "hsd-plain" : "");
    cells.forEach(([figure, below], k) => {
      if (!k) {
        tr.append(stackCell(figure, kinds[i], marks[i]));
        return;
      }
      const node = make("td", classes[k]);
      node.append(make("span", "hsd-report-value", figure));
      if (below) node.append(make("small", "", below));
      tr.append(node);
    });
    tbody.append(tr);
  });
  t.append(thead, tbody);
  wrap.append(t);
  return wrap;
}

/** A switch for columns hidden on a narrow page. */
function more(wrap: HTMLElement) {
  const label = make("label", "hsd-report-more");
  const box = make("input");
  box.type = "checkbox";
  box.addEventListener("change", () => wrap.classList.toggle("hsd-folded", !box.checked));
  label.append(box, "All columns");
  return label;
}

function part(spec: Table, open: boolean) {
  const box = make(open ? "div" : "details", "hsd-report-part");
  box.append(make(open ? "h3" : "summary", "", spec.title));
  for (const words of [spec.note, spec.said]) if (words) box.append(make("p", "hsd-report-note", words));
  if (spec.rows.length) {
    const wrap = table(spec);
    box.append(wrap);
    if (spec.folds) box.append(more(wrap));
  }
  return box;
}

function render({ model, el }: Drawing<Traits>) {
  const root = make("section", "hsd-report");
  function paint() {
    const dark = root.classList.contains("hsd-dark");
    for (const [kind, pair] of Object.entries(model.get("spec").colours || {}))
      root.style.setProperty(`--kind-${kind}`, pair[dark ? 1 : 0]);
  }
  function fill() {
    const { answer, warnings, intro, tables } = model.get("spec");
    const said = make("p", "hsd-report-answer");
    said.append(...(answer || []).map(([text, strong]) => make(strong ? "strong" : "span", "", text)));
    const parts: HTMLElement[] = answer?.length ? [said] : [];
    parts.push(...(warnings || []).map((line) => make("p", "hsd-report-warning", line)));
    parts.push(...(intro || []).map((line) => make("p", "hsd-report-intro", line)));
    parts.push(...(tables || []).map((spec, i) => part(spec, !i)));
    root.replaceChildren(...parts);
    paint();
  }
  const unfollow = followTheme(root, { behind: "--paper", changed: paint });
  model.on("change:spec", fill);
  fill();
  el.append(root);
  return () => {
    model.off("change:spec", fill);
    unfollow();
    root.remove();
  };
}

export default { render: guarded(render) };
