// @ts-check
// Tables of words: the first open, the others folded. Stands behind dom.js.

const numeric = (/** @type {string} */ cell) => /^[-–]?[\d.,]*\d/.test(cell) || cell === "-" || cell === "–";

function table(rows) {
  const wrap = make("div", "hsd-report-table");
  wrap.tabIndex = 0;
  wrap.setAttribute("role", "region");
  const t = make("table");
  const [head, ...body] = rows;
  // A column of figures stands to the right, its head with it.
  const right = head.map((_, k) => k > 0 && body.every((row) => numeric(row[k] ?? "")));
  const line = (cells, tag) => {
    const tr = make("tr");
    cells.forEach((cell, k) => {
      const node = make(k === 0 && tag === "td" ? "th" : tag, right[k] ? "hsd-num" : "", k === 0 && tag === "td" ? undefined : cell);
      if (k === 0 && tag === "td") node.append(make("code", "", cell));
      if (node.tagName === "TH") node.scope = tag === "th" ? "col" : "row";
      tr.append(node);
    });
    return tr;
  };
  const thead = make("thead");
  thead.append(line(head, "th"));
  const tbody = make("tbody");
  tbody.append(...body.map((row) => line(row, "td")));
  t.append(thead, tbody);
  wrap.append(t);
  return wrap;
}

function render({ model, el }) {
  const root = make("section", "hsd-report");
  function fill() {
    const { intro, tables } = model.get("spec");
    const parts = (intro || []).map((line) => make("p", "hsd-report-intro", line));
    (tables || []).forEach(({ title, note, rows }, i) => {
      const box = make(i ? "details" : "div", "hsd-report-part");
      box.append(make(i ? "summary" : "h3", "", title));
      if (i) box.firstChild.dataset.lmSuppressShortcuts = "true";
      if (note) box.append(make("p", "hsd-report-note", note));
      if (rows.length) {
        const wrap = table(rows);
        wrap.setAttribute("aria-label", title);
        box.append(wrap);
      }
      parts.push(box);
    });
    root.replaceChildren(...parts);
  }
  model.on("change:spec", fill);
  fill();
  el.append(root);
  return () => { model.off("change:spec", fill); root.remove(); };
}

export default { render };
