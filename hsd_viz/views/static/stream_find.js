// @ts-check
// Finding text in the stream, over the borders of tokens. Stands behind stream_text.js and stream_pane.js.

/** The ranges of the page's streams under one name: the page has a single list of highlights. */
function highlight(/** @type {string} */ name) {
  const all = globalThis.CSS?.highlights;
  if (!all || typeof Highlight === "undefined") return null;
  if (!all.has(name)) all.set(name, new Highlight());
  return /** @type {Highlight} */ (all.get(name));
}

/**
 * The field, what it says and its buttons. `reveal(node)` brings a node into sight, `settled()` gives the keyboard back to the text.
 * `again()` searches anew, `more(from)` in what was added since token `from`.
 */
function findBar({ pane, group, store, out, reveal }) {
  const root = make("div", "hsd-find");
  root.setAttribute("role", "search");
  const field = /** @type {HTMLInputElement} */ (make("input", "hsd-find-field"));
  Object.assign(field, { type: "text", placeholder: "Find in the text", spellcheck: false, autocomplete: "off" });
  field.setAttribute("aria-label", "Find in the text");
  field.setAttribute("aria-keyshortcuts", "/");
  field.title = "/ comes here, Enter and Shift Enter go on and back, Esc stays at what was found. A capital letter makes case matter; ↵ and ⇥ find line breaks and tabs.";
  const said = make("output", "hsd-find-said");
  said.setAttribute("aria-live", "polite");
  const step = (/** @type {string} */ label, /** @type {string} */ words, /** @type {number} */ by) => {
    const button = /** @type {HTMLButtonElement} */ (make("button", "hsd-find-step", label));
    button.type = "button";
    button.title = words;
    button.setAttribute("aria-label", words);
    button.addEventListener("click", () => go(by));
    return button;
  };
  const back = step("‹", "Match before (Shift Enter)", -1);
  const next = step("›", "Next match (Enter)", 1);
  root.append(field, said, back, next);

  let hay = createHaystack();
  let prompts = 0; // pieces of the prompt at the head of the haystack
  /** @type {[number, number][]} */ let found = [];
  let now = -1;
  const marks = { all: highlight("hsd-found"), now: highlight("hsd-found-now") };
  /** What this view put there. @type {{all: StaticRange[], now: StaticRange[]}} */
  const mine = { all: [], now: [] };
  let loud = /** @type {HTMLElement[]} */ ([]); // tokens marked where the browser knows no highlights

  const placesOf = (/** @type {[number, number]} */ [from, to]) =>
    tokensIn(hay, from, to).map((p) => (p.token < prompts ? { ...p, prompt: p.token, token: undefined } : { ...p, token: p.token - prompts }));
  function put(/** @type {"all" | "now"} */ which, /** @type {any[]} */ places, keep = false) {
    const set = marks[which];
    if (!set) {
      if (which === "all") return;
      loud.forEach((node) => node.classList.remove("hsd-found"));
      loud = places.flatMap((p) => (p.token === undefined ? [] : pane.nodes(p.token)));
      loud.forEach((node) => node.classList.add("hsd-found"));
      return;
    }
    if (!keep) { mine[which].forEach((r) => set.delete(r)); mine[which] = []; }
    for (const range of places.flatMap(pane.ranges)) { set.add(range); mine[which].push(range); }
  }
  function tell() {
    said.textContent = !field.value ? "" : !found.length ? "none" : now < 0 ? String(found.length) : `${now + 1} of ${found.length}`;
    root.classList.toggle("hsd-find-none", Boolean(field.value) && !found.length);
    back.disabled = next.disabled = !found.length;
  }
  /** Bring a match into sight; `go`: the cursor goes there, too, where it lies in what was emitted. */
  function at(/** @type {number} */ k, go = true) {
    now = k;
    const places = k < 0 ? [] : placesOf(found[k]);
    put("now", places);
    const first = places[0];
    if (go && first?.token !== undefined) group.go({ token: first.token });
    if (first) reveal(first.token === undefined ? pane.place(first.prompt) : pane.spans[first.token]);
    tell();
  }
  const go = (/** @type {number} */ by) => { if (found.length) at((now + by + found.length) % found.length); };
  function look() {
    found = findIn(hay, field.value);
    put("all", found.flatMap(placesOf));
    put("now", []);
    now = -1;
  }
  function search() {
    look();
    // The first one from the cursor on, else the first.
    const cursor = hay.parts.find((p) => p.last - prompts >= Math.max(0, group.cursor.token))?.at ?? 0;
    const k = found.findIndex(([from]) => from >= cursor);
    // What is typed is only looked for: the cursor goes where one stays.
    at(found.length ? Math.max(0, k) : -1, false);
  }
  const bar = {
    root, field,
    again() {
      hay = createHaystack();
      const texts = pane.promptTexts();
      prompts = texts.length;
      for (const t of texts) hay.add(t, null);
      for (const t of store.tokens) hay.add(t.text, t.raw);
      const before = found[now];
      look();
      const k = before ? found.findIndex(([from]) => from === before[0]) : -1;
      if (k >= 0) { now = k; put("now", placesOf(found[k])); }
      tell();
    },
    more(/** @type {number} */ from) {
      const last = found[found.length - 1];
      // What was written byte by byte may read otherwise now: what came before it stays.
      const sure = hay.parts.length ? hay.parts[hay.parts.length - 1].at : 0;
      for (const t of store.tokens.slice(from)) hay.add(t.text, t.raw);
      if (!field.value) return;
      const fresh = findIn(hay, field.value, Math.max(last ? last[1] : 0, sure - field.value.length));
      found.push(...fresh);
      put("all", fresh.flatMap(placesOf), true);
      tell();
    },
    end() { for (const which of /** @type {const} */ (["all", "now"])) mine[which].forEach((r) => marks[which]?.delete(r)); },
  };
  function leave() {
    if (now >= 0) at(now);
    field.value = "";
    look();
    tell();
    out.focus({ preventScroll: true });
  }
  field.addEventListener("input", search);
  root.addEventListener("keydown", (e) => {
    if (e.isComposing) return;
    if (e.key === "Enter" && e.target === field) go(e.shiftKey ? -1 : 1);
    else if (e.key === "Escape") leave();
    else { if (e.target === field) e.stopPropagation(); return; }
    e.preventDefault();
    e.stopPropagation();
  });
  tell();
  return bar;
}
