// @ts-check
// The token stream: prompt, emitted tokens coloured by source and marked by verdict, rejected drafts as ghosts, a details card.
// Everything that comes from a model is put on the page with textContent; nothing is fetched.

/** Rows arrive as lists in the order of hsd_viz/views/payload.py. */
const TOKEN = ["id", "text", "raw", "round", "kind", "source", "path", "depth", "p", "entropy", "top", "residual", "q"];
const DRAFT = ["round", "level", "source", "node", "parent", "depth", "id", "text", "p", "q", "u", "verdict", "key", "count", "score", "position"];
const ROUND = ["id", "parent", "level", "drafted", "examined", "accepted", "outcome", "why", "ns"];
const KIND_WORDS = {
  accepted: "accepted draft token",
  correction: "correction by the target",
  bonus: "bonus token",
  plain: "plain token",
};
const VERDICT_MARKS = { accepted: "✓", rejected: "✗", unreached: "·", cut: "✂" };
const WHY = {
  "no match": "no database knew how this text goes on",
  "not worth it": "the expected gain was below the cost of verifying",
  "no room": "there was no room left for a draft",
  off: "drafting was off",
};
const MAX_ROWS = 40;

const named = (/** @type {string[]} */ names, /** @type {any[]} */ row) => Object.fromEntries(names.map((n, i) => [n, row[i]]));

// JupyterLab's shortcuts ("d d" deletes the cell) are suppressed only where the focused element itself says so.
const FOCUSABLE = new Set(["button", "input", "summary"]);

/** @param {string} tag @param {string} [cls] @param {string} [text] */
function make(tag, cls, text) {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text !== undefined) node.textContent = text;
  if (FOCUSABLE.has(tag)) node.dataset.lmSuppressShortcuts = "true";
  return node;
}

// Characters nobody can see, or that would reorder the line, are shown as their code point.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const visible = (/** @type {string} */ s) =>
  s.replace(HIDDEN, (c) => `‹U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
/** One line, every blank with a glyph: for ghosts and the card. */
const glyphs = (/** @type {string} */ s) => visible(s).replace(/ /g, "␣").replace(/\t/g, "⇥").replace(/\n/g, "↵");
/** The same, short: indentation says little about a draft that was turned down. */
const brief = (/** @type {string} */ s) => visible(s).replace(/\n/g, "↵").replace(/[ \t]{2,}/g, "␣");

/** Put a token's text into `node`: line breaks get a faint glyph and still break the line, blanks keep their width. */
function write(node, /** @type {string} */ text) {
  const lines = visible(text).split("\n");
  lines.forEach((line, i) => {
    if (i > 0) {
      const glyph = make("span", "hsd-nl", "↵");
      glyph.setAttribute("aria-hidden", "true");
      node.append(glyph, "\n");
    }
    if (line) node.append(line);
  });
}

const figure = (/** @type {any} */ x) => {
  if (x === null || x === undefined) return "–";
  if (x === 0 || x === 1) return String(x);
  return Math.abs(x) >= 0.001 ? x.toFixed(3) : x.toExponential(1);
};
const plural = (/** @type {number} */ n, /** @type {string} */ word) => `${n} ${word}${n === 1 ? "" : "s"}`;

/** What is known of the run. Snapshots replace it, appended steps extend it; a gap asks Python for a snapshot. */
function createStore(model) {
  const store = {
    run: "", seq: 0, prompt: "", promptIds: [], levels: [], pieces: {}, /** @type {any[]} */ tokens: [],
    rounds: new Map(), order: new Map(), children: new Map(), drafts: new Map(), /** @type {Set<(what: string, from: number) => void>} */ listeners: new Set(),
    tell(what, from) { for (const f of store.listeners) f(what, from); },
    extend(part) {
      for (const row of part.rounds) {
        const r = named(ROUND, row);
        store.rounds.set(r.id, r);
        // People count the target's rounds; ids also number the rounds of the levels below.
        if (r.parent === null) store.order.set(r.id, store.order.size + 1);
        else store.children.set(r.parent, [...(store.children.get(r.parent) || []), r.id]);
      }
      for (const row of part.drafts) {
        const d = named(DRAFT, row);
        if (!store.drafts.has(d.round)) store.drafts.set(d.round, []);
        store.drafts.get(d.round).push(d);
      }
      Object.assign(store.pieces, part.pieces);
      for (const row of part.tokens) store.tokens.push(named(TOKEN, row));
    },
    adopt() {
      const data = model.get("data");
      if (!data || data.run === undefined) return;
      if (data.run === store.run && data.seq <= store.seq) return;
      Object.assign(store, {
        run: data.run, seq: data.seq, prompt: data.prompt, promptIds: data.prompt_ids, levels: data.levels,
        pieces: {}, tokens: [], rounds: new Map(), order: new Map(), children: new Map(), drafts: new Map(),
      });
      store.extend(data);
      store.tell("reset", 0);
    },
    receive(message) {
      if (message.kind !== "append") return;
      if (message.run === store.run && message.seq <= store.seq) return;
      if (message.run !== store.run || message.first > store.seq + 1) {
        model.send({ kind: "sync" });
        return;
      }
      const from = store.tokens.length;
      for (const step of message.steps.slice(store.seq + 1 - message.first)) store.extend(step);
      store.seq = message.seq;
      store.tell("append", from);
    },
  };
  return store;
}

/** Follow the host's theme: JupyterLab and Voilà say it on <body>, elsewhere the browser is asked. */
function followTheme(root, model) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const host = document.body.dataset.jpThemeLight;
    const dark = host === undefined ? system.matches : host === "false";
    root.classList.toggle("hsd-dark", dark);
    if (model.get("dark") !== dark) {
      model.set("dark", dark);
      model.save_changes();
    }
  };
  const observer = new MutationObserver(apply);
  observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
  system.addEventListener("change", apply);
  apply();
  return () => { observer.disconnect(); system.removeEventListener("change", apply); };
}

function createView(model, store, el) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const palette = model.get("palette");
  const root = make("div", "hsd-stream");
  const family = (/** @type {string} */ s) => (s in palette.hues && s !== "draft" && s !== "rival" ? s : palette.rivals.includes(s) ? "rival" : "draft");
  const sourceWords = (/** @type {string} */ s) => {
    const f = family(s);
    return f === "draft" ? `${s}, draft model` : f === "rival" ? `${s}, rival look-up` : palette.hues[f].label;
  };
  const sourcePhrase = (/** @type {string} */ s) => {
    const f = family(s);
    return f === "target" ? "the target" : f === "rival" ? `the rival ${s}` : palette.databases.includes(s) ? `the ${palette.hues[f].label}` : `the draft model ${s}`;
  };
  for (const [name, hue] of Object.entries(palette.hues)) {
    root.style.setProperty(`--hsd-${name}-light`, hue.light);
    root.style.setProperty(`--hsd-${name}-dark`, hue.dark);
  }
  const unfollow = followTheme(root, model);

  // --- the frame
  const bar = make("div", "hsd-bar");
  const legend = make("div", "hsd-legend");
  legend.setAttribute("role", "group");
  legend.setAttribute("aria-label", "Legend");
  const switches = make("div", "hsd-switches");
  bar.append(legend, switches);
  const scroll = make("div", "hsd-scroll");
  scroll.tabIndex = -1;
  const text = make("div", "hsd-text");
  const prompt = make("span", "hsd-prompt");
  prompt.setAttribute("role", "note");
  prompt.setAttribute("aria-label", "Tokens of the prompt");
  const out = make("span", "hsd-out");
  out.tabIndex = 0;
  out.dataset.lmSuppressShortcuts = "true";
  out.setAttribute("role", "listbox");
  out.setAttribute("aria-label", "Emitted tokens. Arrow keys move, Enter pins, Escape unpins.");
  text.append(prompt, out);
  scroll.append(text);
  const card = make("aside", "hsd-card");
  card.setAttribute("aria-label", "Token details");
  const body = make("div", "hsd-body");
  body.append(scroll, card);
  root.append(bar, body);
  el.append(root);

  function toggle(label, trait, cls) {
    const box = /** @type {HTMLInputElement} */ (make("input"));
    box.type = "checkbox";
    const apply = () => { box.checked = model.get(trait); root.classList.toggle(cls, box.checked); };
    box.addEventListener("change", () => { model.set(trait, box.checked); model.save_changes(); apply(); });
    model.on(`change:${trait}`, apply);
    apply();
    const wrap = make("label", "hsd-switch");
    wrap.append(box, make("span", "", label));
    switches.append(wrap);
    return () => model.off(`change:${trait}`, apply);
  }
  const untoggle = [toggle("Rejected drafts", "ghosts", "hsd-ghosts"), toggle("Round boundaries", "boundaries", "hsd-bounds")];

  // --- legend: only the sources that occur, with their counts
  function drawLegend() {
    const counts = new Map();
    const kinds = new Map();
    for (const t of store.tokens) {
      counts.set(t.source, (counts.get(t.source) || 0) + 1);
      kinds.set(t.kind, (kinds.get(t.kind) || 0) + 1);
    }
    const items = make("div", "hsd-keys");
    const marks = make("div", "hsd-keys");
    for (const [source, n] of [...counts].sort((a, b) => b[1] - a[1])) {
      const item = make("span", "hsd-key");
      const swatch = make("span", "hsd-swatch");
      swatch.dataset.family = family(source);
      item.append(swatch, make("span", "", sourceWords(source)), make("b", "", String(n)));
      items.append(item);
    }
    const shapes = [["accepted", "accepted"], ["correction", "correction"], ["bonus", "bonus"], ["plain", "plain"]];
    for (const [kind, words] of shapes) {
      if (kind === "plain" && !kinds.has(kind)) continue;
      const item = make("span", "hsd-key");
      const sample = make("span", "hsd-tok hsd-sample", "abc");
      sample.dataset.kind = kind;
      sample.setAttribute("aria-hidden", "true");
      item.append(sample, make("span", "", words), make("b", "", String(kinds.get(kind) || 0)));
      marks.append(item);
    }
    const ghost = make("span", "hsd-key hsd-key-ghost");
    const sample = make("span", "hsd-ghost hsd-sample", "abc");
    sample.setAttribute("aria-hidden", "true");
    ghost.append(sample, make("span", "", "rejected draft"));
    marks.append(ghost);
    legend.replaceChildren(items, marks);
  }

  // --- text
  const spans = /** @type {HTMLElement[]} */ ([]);
  let promptSpans = /** @type {HTMLElement[]} */ ([]);
  let lastRound = -1;

  function drawPrompt() {
    const ids = store.promptIds;
    promptSpans = [];
    const known = ids.length && ids.every((i) => store.pieces[i] !== undefined);
    const parts = known ? ids.map((i) => store.pieces[i]) : store.prompt ? [store.prompt] : [];
    for (const part of parts) {
      const span = make("span", "hsd-ptok");
      write(span, part);
      promptSpans.push(span);
    }
    prompt.replaceChildren(...promptSpans);
    prompt.dataset.known = String(Boolean(known));
  }

  function ghostsOf(roundId) {
    // The likeliest branch that was turned down, then a count of the others: the card lists them all.
    const drafts = store.drafts.get(roundId) || [];
    const refused = drafts.filter((d) => d.verdict === "rejected");
    const strip = make("span", "hsd-strip");
    strip.setAttribute("aria-hidden", "true");
    if (!refused.length) return null;
    let node = refused[0];
    let shown = 0;
    while (node && shown < 2) {
      const ghost = make("span", "hsd-ghost", brief(node.text));
      ghost.dataset.family = family(node.source);
      strip.append(ghost);
      shown += 1;
      const here = node.node;
      node = drafts.find((d) => d.parent === here && d.verdict !== "accepted");
    }
    const others = drafts.filter((d) => d.verdict === "rejected" || d.verdict === "unreached").length - shown;
    if (others > 0) strip.append(make("span", "hsd-more", `+${others}`));
    return strip;
  }

  function drawTokens(from) {
    const fragment = document.createDocumentFragment();
    for (let i = from; i < store.tokens.length; i++) {
      const t = store.tokens[i];
      const span = make("span", "hsd-tok");
      span.id = `${uid}-t${i}`;
      span.dataset.i = String(i);
      span.dataset.kind = t.kind;
      span.dataset.family = family(t.source);
      if (t.round !== lastRound) span.classList.add("hsd-first");
      lastRound = t.round;
      span.setAttribute("role", "option");
      span.setAttribute("aria-selected", "false");
      span.setAttribute("aria-label", `${glyphs(t.text)}: ${KIND_WORDS[t.kind] || t.kind}, ${sourceWords(t.source)}, round ${store.order.get(t.round)}`);
      write(span, t.text);
      if (t.raw !== null) span.classList.add("hsd-bytes");
      if (t.depth === 0) {
        const strip = ghostsOf(t.round);
        if (strip) fragment.append(strip);
      }
      fragment.append(span);
      spans.push(span);
    }
    out.append(fragment);
  }

  let stuck = true; // follow the end of the text as long as the reader has not scrolled away from it
  scroll.addEventListener("scroll", () => { stuck = scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - 24; }, { passive: true });
  let pending = -1;
  function flush() {
    if (pending < 0) return;
    const from = pending;
    pending = -1;
    drawTokens(from);
    drawLegend();
    if (from === 0) show(); // now there is something to look at
    if (stuck && model.get("live")) scroll.scrollTop = scroll.scrollHeight;
  }
  /** Where the emitted text begins, with a few lines of the prompt above it. */
  const start = () => Math.max(0, out.getBoundingClientRect().top - text.getBoundingClientRect().top - 90);
  function onStore(what, from) {
    if (what === "reset") {
      pending = -1;
      spans.length = 0;
      lastRound = -1;
      stuck = true;
      state.hover = state.key = -1;
      out.replaceChildren();
      drawPrompt();
      drawTokens(0);
      drawLegend();
      root.classList.toggle("hsd-empty", !store.tokens.length && !store.prompt);
      scroll.scrollTop = model.get("live") ? scroll.scrollHeight : start();
      show();
      return;
    }
    if (pending < 0) {
      pending = from;
      // A hidden tab gets no animation frames: the timer makes it catch up all the same.
      requestAnimationFrame(flush);
      setTimeout(flush, 250);
    }
  }

  // --- cursor: hover previews, click or Enter pins, Esc unpins
  const state = { hover: -1, key: -1 };
  const pinned = () => { const i = model.get("pinned"); return i < store.tokens.length ? i : -1; };
  const current = () => (pinned() >= 0 ? pinned() : state.hover >= 0 ? state.hover : state.key);
  let marked = /** @type {HTMLElement[]} */ ([]);
  let drawn = "";

  function pin(i) {
    if (model.get("pinned") !== i) { model.set("pinned", i); model.save_changes(); }
    show();
  }
  function place(position) {
    if (position === null || position === undefined) return null;
    const n = store.promptIds.length;
    if (!n && store.prompt) return null; // how many tokens the prompt has is not known
    if (position < n) return promptSpans.length === n ? promptSpans[position] : null;
    return spans[position - n] || null;
  }
  function show() {
    for (const s of marked) { s.classList.remove("hsd-on", "hsd-pinned", "hsd-mate", "hsd-lit"); s.setAttribute("aria-selected", "false"); }
    marked = [];
    const mark = (s, cls) => { if (s) { s.classList.add(cls); marked.push(s); } };
    const i = current();
    if (state.hover >= 0 && state.hover !== i) mark(spans[state.hover], "hsd-on");
    if (i < 0 || !spans[i]) {
      out.removeAttribute("aria-activedescendant");
      if (drawn !== "hint") { drawn = "hint"; drawHint(); }
      else if (pinned() < 0) drawHint();
      return;
    }
    const t = store.tokens[i];
    spans[i].setAttribute("aria-selected", "true");
    out.setAttribute("aria-activedescendant", spans[i].id);
    mark(spans[i], pinned() === i ? "hsd-pinned" : "hsd-on");
    for (let k = i - 1; k >= 0 && store.tokens[k].round === t.round; k--) mark(spans[k], "hsd-mate");
    for (let k = i + 1; k < store.tokens.length && store.tokens[k].round === t.round; k++) mark(spans[k], "hsd-mate");
    const row = ownDraft(t);
    if (row) mark(place(row.position), "hsd-lit");
    const key = `${store.run}:${i}:${pinned() === i}`;
    if (drawn !== key) { drawn = key; drawCard(i, t, row); }
  }
  const ownDraft = (t) => (store.drafts.get(t.round) || []).find((d) => d.verdict === "accepted" && d.depth === t.depth && d.id === t.id) || null;

  function tokenAt(event) {
    const span = /** @type {HTMLElement|null} */ (event.target.closest?.(".hsd-tok[data-i]"));
    return span && out.contains(span) ? Number(span.dataset.i) : -1;
  }
  text.addEventListener("pointerover", (e) => { const i = tokenAt(e); if (i !== state.hover) { state.hover = i; show(); } });
  text.addEventListener("pointerleave", () => { state.hover = -1; show(); });
  text.addEventListener("click", (e) => {
    const i = tokenAt(e);
    if (i < 0) return;
    state.key = i;
    pin(pinned() === i ? -1 : i);
  });
  function move(i) {
    const n = store.tokens.length;
    if (!n) return;
    i = Math.max(0, Math.min(n - 1, i));
    state.key = i;
    state.hover = -1;
    if (pinned() >= 0) pin(i);
    else show();
    spans[i]?.scrollIntoView({ block: "nearest" });
  }
  function roundStart(i, step) {
    const rounds = store.tokens;
    if (i < 0) return 0;
    let k = i;
    if (step > 0) { while (k < rounds.length && rounds[k].round === rounds[i].round) k++; return k < rounds.length ? k : i; }
    while (k > 0 && rounds[k - 1].round === rounds[i].round) k--;
    if (k < i || k === 0) return k;
    const before = rounds[k - 1].round;
    while (k > 0 && rounds[k - 1].round === before) k--;
    return k;
  }
  out.addEventListener("keydown", (e) => {
    const at = pinned() >= 0 ? pinned() : state.key;
    const keys = {
      ArrowRight: () => move(e.shiftKey ? roundStart(at, 1) : at + 1),
      ArrowLeft: () => move(e.shiftKey ? roundStart(at, -1) : at - 1),
      Home: () => move(0),
      End: () => move(store.tokens.length - 1),
      Enter: () => { if (at >= 0) pin(at); },
      Escape: () => { state.hover = -1; pin(-1); },
    };
    if (!(e.key in keys) || e.ctrlKey || e.metaKey || e.altKey) return;
    keys[e.key]();
    e.preventDefault();
    e.stopPropagation();
  });
  root.addEventListener("keydown", (e) => { if (e.key === "Escape" && pinned() >= 0) { pin(-1); e.stopPropagation(); } });

  // --- the card
  function jump(label, find) {
    const i = store.tokens.findIndex(find);
    if (i < 0) return null;
    const button = make("button", "hsd-jump", label);
    button.addEventListener("click", () => { state.key = i; pin(i); spans[i].scrollIntoView({ block: "nearest" }); out.focus({ preventScroll: true }); });
    return button;
  }
  function drawHint() {
    const jumps = make("div", "hsd-jumps");
    if (store.tokens.length) {
      let deepest = 0;
      let least = 1;
      for (const t of store.tokens) { deepest = Math.max(deepest, t.depth); if (t.p !== null && t.p < least) least = t.p; }
      const refused = (t) => t.kind === "correction" && (store.drafts.get(t.round) || []).some((d) => d.verdict === "rejected");
      for (const b of [
        deepest > 1 && jump(`Longest accepted draft (${deepest})`, (t) => t.depth === deepest),
        jump("First rejected draft", refused),
        least < 1 && jump("Least likely token", (t) => t.p === least),
      ]) if (b) jumps.append(b);
    }
    card.replaceChildren(
      make("h3", "hsd-card-title", "Look at a token"),
      make("p", "hsd-hint", store.tokens.length
        ? "Hover a token to preview where it came from; click it (or press Enter) to keep it here. ← → move by token, with Shift by round; Esc lets go."
        : "Tokens appear here as they are decoded."),
      ...(jumps.children.length ? [jumps] : []),
    );
  }
  function facts(pairs) {
    const list = make("div", "hsd-facts");
    for (const [k, v] of pairs) {
      const cell = make("div");
      cell.append(make("span", "hsd-fact-name", k), make("span", "hsd-fact", v));
      list.append(cell);
    }
    return list;
  }
  function bars(title, top, chosen) {
    const box = make("section", "hsd-top");
    box.append(make("h4", "", title));
    for (const [id, p] of top) {
      const row = make("div", "hsd-top-row");
      if (id === chosen) row.classList.add("hsd-chosen");
      const track = make("span", "hsd-track");
      const fill = make("span", "hsd-fill");
      fill.style.width = `${Math.max(1, 100 * p)}%`;
      track.append(fill);
      row.append(make("code", "", glyphs(store.pieces[id] ?? `#${id}`)), track, make("span", "hsd-num", figure(p)));
      box.append(row);
    }
    return box;
  }
  function table(drafts, mine) {
    const wrap = make("div", "hsd-table");
    const t = make("table");
    const has = (k) => drafts.some((d) => d[k] !== null && d[k] !== undefined);
    const columns = [["", (d) => VERDICT_MARKS[d.verdict] || d.verdict], ["token", null], ["source", (d) => d.source],
      ["p", (d) => figure(d.p)], ["q", (d) => figure(d.q)]];
    if (has("u")) columns.push(["u", (d) => figure(d.u)]);
    if (has("key")) columns.push(["key", (d) => d.key ?? "–"]);
    if (has("count")) columns.push(["count", (d) => d.count ?? "–"]);
    if (has("score")) columns.push(["score", (d) => figure(d.score)]);
    if (has("position")) columns.push(["from", (d) => d.position ?? "–"]);
    const titles = { p: "the verifier's probability", q: "the drafter's probability", u: "uniform draw: accepted where u·q < p",
      key: "tokens of the text that matched", count: "times seen", score: "estimated acceptance", from: "position in the text it was copied from" };
    const top = make("tr");
    for (const [name] of columns) { const th = make("th", "", name); th.scope = "col"; if (titles[name]) th.title = titles[name]; top.append(th); }
    const thead = make("thead");
    thead.append(top);
    const tbody = make("tbody");
    for (const d of drafts.slice(0, MAX_ROWS)) {
      const tr = make("tr");
      tr.dataset.verdict = d.verdict;
      if (d === mine) tr.classList.add("hsd-mine");
      for (const [name, value] of columns) {
        const td = make("td", name === "" ? "hsd-mark" : "", value ? String(value(d)) : undefined);
        if (name === "") td.setAttribute("aria-label", d.verdict);
        if (name === "token") {
          const code = make("code", "", glyphs(d.text));
          code.dataset.family = family(d.source);
          td.style.paddingLeft = `${Math.min(8, d.depth - 1) * 7 + 4}px`;
          td.append(code);
        }
        tr.append(td);
      }
      const from = place(d.position);
      if (from) {
        tr.addEventListener("pointerenter", () => from.classList.add("hsd-lit2"));
        tr.addEventListener("pointerleave", () => from.classList.remove("hsd-lit2"));
      }
      tbody.append(tr);
    }
    t.append(thead, tbody);
    wrap.append(t);
    if (drafts.length > MAX_ROWS) wrap.append(make("p", "hsd-hint", `and ${drafts.length - MAX_ROWS} more`));
    return wrap;
  }
  const levelName = (l) => store.levels[l] ?? `level ${l}`;
  function roundTitle(r) {
    if (r.drafted === 0) return "no draft";
    return `${plural(r.drafted, "token")} drafted, ${r.accepted} accepted`;
  }
  function below(roundId, into, depth) {
    for (const child of store.children.get(roundId) || []) {
      if (depth < 8) below(child, into, depth + 1);
      const r = store.rounds.get(child);
      const drafts = store.drafts.get(child) || [];
      const box = make("details", "hsd-below");
      box.append(make("summary", "", `${levelName(r.level)} verified: ${roundTitle(r)}, ${r.outcome}`));
      if (drafts.length) box.append(table(drafts, null));
      into.append(box);
    }
  }
  function story(t, row) {
    if (t.kind === "accepted" && row) {
      const parts = [`Drafted by ${sourcePhrase(t.source)}`];
      if (row.key) parts.push(`after ${plural(row.key, "matching token")}`);
      if (row.position !== null) parts.push(`copied from position ${row.position}`);
      return `${parts.join(", ")}; verified and accepted by the target as place ${t.depth} of its draft.`;
    }
    if (t.kind === "accepted") return `Drafted by ${sourcePhrase(t.source)}; accepted by the target as place ${t.depth} of its draft.`;
    if (t.kind === "correction") {
      const refused = (store.drafts.get(t.round) || []).find((d) => d.verdict === "rejected");
      const draft = refused
        ? `Here ${sourcePhrase(refused.source)} had drafted “${glyphs(refused.text)}”, which the target rejected`
        : "No drafted token fitted here";
      return t.residual && t.q
        ? `${draft}: it drew this token from the residual, what is left of p once q is taken away.`
        : `${draft}: this is the target's own token.`;
    }
    if (t.kind === "bonus") return "The whole draft was accepted, so the target's forward gave this token for free.";
    return "The target decoded this token by itself.";
  }
  function drawCard(i, t, row) {
    const r = store.rounds.get(t.round);
    // Read out what is pinned; what the pointer merely passes would be noise.
    card.setAttribute("aria-live", pinned() === i ? "polite" : "off");
    const head = make("div", "hsd-card-head");
    const big = make("code", "hsd-big", glyphs(t.text) || "∅");
    big.dataset.family = family(t.source);
    const close = make("button", "hsd-close", "Unpin");
    close.hidden = pinned() !== i;
    close.addEventListener("click", () => { pin(-1); out.focus({ preventScroll: true }); });
    head.append(big, close);
    const what = make("p", "hsd-what");
    const chip = make("span", "hsd-chip", sourceWords(t.source));
    chip.dataset.family = family(t.source);
    const kind = make("span", "hsd-tok hsd-kind", t.kind);
    kind.dataset.kind = t.kind;
    what.append(chip, " ", kind);
    const pairs = [["token", `${i + 1} of ${store.tokens.length}`], ["id", String(t.id)], ["round", `${store.order.get(t.round)} (id ${t.round})`],
      ["place in draft", t.depth ? String(t.depth) : "–"],
      ["p at T = 1", figure(t.p)], ["entropy", t.entropy === null ? "–" : `${t.entropy.toFixed(2)} nats`],
      ["path", t.path.map(levelName).join(" → ") || "–"]];
    if (t.raw !== null) pairs.push(["bytes", t.raw]);
    card.replaceChildren(head, what, make("p", "hsd-story", story(t, row)), facts(pairs));
    if (t.top) card.append(bars("Target's top 5 at temperature 1", t.top, t.id));
    if (t.residual) card.append(bars("Residual it was drawn from, top 5", t.residual, t.id));
    if (t.q) card.append(bars("The draft's q here, top 5", t.q, t.id));
    const drafts = store.drafts.get(t.round) || [];
    const section = make("section", "hsd-round");
    if (r) {
      section.append(make("h4", "", `Round ${store.order.get(t.round)}: ${roundTitle(r)}`));
      if (r.drafted === 0 && r.why) section.append(make("p", "hsd-why", `No draft: ${r.why} (${WHY[r.why] || r.why}).`));
    }
    if (drafts.length) section.append(table(drafts, row));
    below(t.round, section, 0);
    card.append(section);
  }

  // --- life
  const onPin = () => show();
  const onLive = () => {
    root.classList.toggle("hsd-live", model.get("live"));
    show();
  };
  store.listeners.add(onStore);
  model.on("change:pinned", onPin);
  model.on("change:live", onLive);
  onLive();
  onStore("reset", 0);
  // The first drawing happens before the page has a layout: look again once it has.
  const laidOut = new ResizeObserver(() => {
    if (!scroll.clientHeight) return;
    laidOut.disconnect();
    requestAnimationFrame(() => { if (!model.get("live")) scroll.scrollTop = start(); });
  });
  laidOut.observe(scroll);
  return () => {
    laidOut.disconnect();
    store.listeners.delete(onStore);
    model.off("change:pinned", onPin);
    model.off("change:live", onLive);
    untoggle.forEach((f) => f());
    unfollow();
    root.remove();
  };
}

export default () => {
  /** @type {ReturnType<typeof createStore>} */
  let store;
  return {
    initialize({ model }) {
      store = createStore(model);
      store.adopt();
      const adopt = () => store.adopt();
      const receive = (message) => store.receive(message);
      model.on("change:data", adopt);
      model.on("msg:custom", receive);
      return () => { model.off("change:data", adopt); model.off("msg:custom", receive); };
    },
    render({ model, el }) {
      const close = createView(model, store, el);
      // Steps sent while this page was away are lost: ask for what is authoritative.
      if (model.get("live")) model.send({ kind: "sync" });
      return close;
    },
  };
};
