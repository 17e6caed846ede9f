// @ts-check
// Stacked bars by source, row by row, with their figures. Text only; nothing is fetched.

/** @param {string} tag @param {string} [cls] @param {string} [text] */
function make(tag, cls, text) {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text !== undefined) node.textContent = text;
  return node;
}

/** Follow the host's theme (JupyterLab and Voilà say it on <body>, elsewhere the browser is asked), and know the page's colour. */
function followTheme(/** @type {HTMLElement} */ root) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const host = document.body.dataset.jpThemeLight;
    root.classList.toggle("hsd-dark", host === undefined ? system.matches : host === "false");
    for (let node = root.parentElement; node; node = node.parentElement) {
      const behind = getComputedStyle(node).backgroundColor;
      if (!/^(transparent|rgba\(.*, 0\))$/.test(behind)) { root.style.setProperty("--paper", behind); break; }
    }
  };
  const observer = new MutationObserver(apply);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  system.addEventListener("change", apply);
  apply();
  requestAnimationFrame(apply); // a view is made before it stands on the page
  return () => { observer.disconnect(); system.removeEventListener("change", apply); };
}

const ROOM = 34; // pixels that a figure inside a part needs

function hued(node, hue) {
  node.classList.add("hsd-hue");
  node.style.setProperty("--light", hue.light);
  node.style.setProperty("--dark", hue.dark);
  if (hue.own) node.classList.add("hsd-own");
  return node;
}

function cell(role, cls, text, what) {
  const node = make("div", cls, text);
  node.setAttribute("role", role);
  if (what) node.dataset.what = what;
  return node;
}

function bar(row, end, hues) {
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

function group(g, columns, hues) {
  const box = make("div", "hsd-d-group");
  if (g.title) box.append(make("h4", "", g.title));
  const table = make("div", "hsd-d-rows");
  table.setAttribute("role", "table");
  table.setAttribute("aria-label", `${g.title || g.what}: ${g.unit}`);
  const heads = g.columns || columns;
  table.style.setProperty("--columns", String(heads.length));
  const head = make("div", g.bare ? "hsd-d-row hsd-d-head hsd-d-bare" : "hsd-d-row hsd-d-head");
  head.setAttribute("role", "row");
  const unit = make("div", "", g.unit);
  unit.setAttribute("aria-hidden", "true");
  head.append(cell("columnheader", "", g.what), unit, ...heads.map((h) => cell("columnheader", "hsd-num", h)));
  table.append(head);
  const end = g.end || Math.max(...g.rows.map((r) => r.parts.reduce((sum, [, v]) => sum + v, 0)), 1e-9);
  for (const r of g.rows) {
    const row = make("div", r.chosen ? "hsd-d-row hsd-chosen" : "hsd-d-row");
    row.setAttribute("role", "row");
    const name = cell("rowheader", "hsd-d-name");
    name.append(make(r.code ? "code" : "span", "", r.label));
    if (r.note) name.append(make("small", "", r.note));
    row.append(name, bar(r, end, hues), ...r.cells.map((c, k) => cell("cell", "hsd-num", c, heads[k])));
    table.append(row);
  }
  box.append(table);
  return box;
}

function render({ model, el }) {
  const root = make("section", "hsd-latency hsd-d-bars");
  el.append(root);
  function fit() {
    for (const part of root.querySelectorAll(".hsd-d-part")) {
      part.textContent = part.getBoundingClientRect().width >= ROOM ? part.dataset.value : "";
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
      const item = make("li");
      item.append(hued(make("span", "hsd-d-key"), hue), make("span", "", hue.label));
      legend.append(item);
    }
    root.append(legend, ...s.groups.map((g) => group(g, s.columns, s.hues)));
    if (s.source) root.append(make("p", "hsd-source", s.source));
    fit();
  }
  const unfollow = followTheme(root);
  const resized = new ResizeObserver(fit);
  resized.observe(root);
  model.on("change:spec", redraw);
  redraw();
  return () => { model.off("change:spec", redraw); resized.disconnect(); unfollow(); root.remove(); };
}

export default { render };
