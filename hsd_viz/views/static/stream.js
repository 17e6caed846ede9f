// @ts-check
// The token stream: prompt, emitted tokens coloured by source and marked by verdict, rejected drafts as ghosts, a details card.
// Stands behind linked_run.js and linked.js (views/linked.py), whose names it uses.

const MAX_ROWS = 40;

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

function streamView({ model, root, group, store, palette }) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const { family, words: sourceWords, phrase: sourcePhrase } = palette;
  root.classList.add("hsd-stream");

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
  focusable(out);
  out.setAttribute("role", "listbox");
  out.setAttribute("aria-label", "Emitted tokens. Arrow keys move, Enter pins, Escape unpins.");
  text.append(prompt, out);
  scroll.append(text);
  const card = focusable(make("aside", "hsd-card")); // it scrolls, also where nothing in it takes the focus
  card.setAttribute("aria-label", "Token details");
  const body = make("div", "hsd-body");
  body.append(scroll, card);
  root.append(bar, body);

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
  /** Ghosts by the token they stand before. @type {(HTMLElement | undefined)[]} */
  const strips = [];
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
        if (strip) { fragment.append(strip); strips[i] = strip; }
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
      spans.length = strips.length = 0;
      dimmed = Infinity;
      lastRound = -1;
      stuck = true;
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

  // --- cursor
  const pinned = () => (group.cursor.pinned ? group.cursor.token : -1);
  let marked = /** @type {HTMLElement[]} */ ([]);
  let drawn = "";
  let dimmed = Infinity; // tokens from here on are not yet out where the run is played

  function place(position) {
    if (position === null || position === undefined) return null;
    const n = store.promptIds.length;
    if (!n && store.prompt) return null; // how many tokens the prompt has is not known
    if (position < n) return promptSpans.length === n ? promptSpans[position] : null;
    return spans[position - n] || null;
  }
  function show() {
    for (const s of marked) { s.classList.remove("hsd-on", "hsd-pinned", "hsd-mate", "hsd-lit", "hsd-lit2"); if (s.dataset.i) s.setAttribute("aria-selected", "false"); }
    marked = [];
    const mark = (s, cls) => { if (s) { s.classList.add(cls); marked.push(s); } };
    const { token: i, hover, step } = group.cursor;
    if (hover && hover.token !== i) mark(spans[hover.token], "hsd-on");
    if (group.cursor.lit) mark(place(group.cursor.lit.position), "hsd-lit2");
    dim(group.cursor.shown ?? Infinity);
    if (i < 0 || !spans[i]) {
      out.removeAttribute("aria-activedescendant");
      const key = `hint:${store.run}:${store.tokens.length}`;
      if (drawn !== key) { drawn = key; drawHint(); }
      return;
    }
    const t = store.tokens[i];
    spans[i].setAttribute("aria-selected", "true");
    out.setAttribute("aria-activedescendant", spans[i].id);
    mark(spans[i], pinned() === i ? "hsd-pinned" : "hsd-on");
    for (let k = i - 1; k >= 0 && store.tokens[k].round === t.round; k--) mark(spans[k], "hsd-mate");
    for (let k = i + 1; k < store.tokens.length && store.tokens[k].round === t.round; k++) mark(spans[k], "hsd-mate");
    const row = store.ownDraft(t);
    if (row) mark(place(row.position), "hsd-lit");
    const key = `${store.run}:${step}:${i}:${pinned() === i}`;
    if (drawn !== key) { drawn = key; drawCard(i, t, row); }
  }
  function dim(from) {
    const [low, high] = from < dimmed ? [from, dimmed] : [dimmed, from];
    for (let k = low; k < Math.min(high, spans.length); k++) {
      spans[k].classList.toggle("hsd-later", k >= from);
      strips[k]?.classList.toggle("hsd-later", k >= from);
    }
    dimmed = from;
  }
  /** Bring the token under the cursor into sight, within the pane; the page itself moves only for who moves in the text. */
  function reveal(span) {
    if (!span || text.matches(":hover")) return;
    if (document.activeElement === out) { span.scrollIntoView({ block: "nearest" }); return; }
    const pane = scroll.getBoundingClientRect();
    const box = span.getBoundingClientRect();
    if (box.top < pane.top + 24) scroll.scrollTop -= pane.top + 24 - box.top;
    else if (box.bottom > pane.bottom - 24) scroll.scrollTop += box.bottom - pane.bottom + 24;
  }
  function onCursor(now, before) {
    show();
    if (now.token !== before.token && now.token >= 0) reveal(spans[now.token]);
    if (now.lit !== before.lit && now.lit?.reveal) reveal(place(now.lit.position));
    if (model.get("pinned") === pinned()) return;
    model.set("pinned", pinned());
    model.save_changes();
  }
  function onPinned() {
    const i = model.get("pinned");
    if (i !== pinned()) group.pin(i >= 0 ? { token: i } : null);
  }

  function tokenAt(event) {
    const span = /** @type {HTMLElement|null} */ (event.target.closest?.(".hsd-tok[data-i]"));
    return span && out.contains(span) ? Number(span.dataset.i) : -1;
  }
  const at = (/** @type {number} */ i) => (i >= 0 ? { token: i } : null);
  text.addEventListener("pointerover", (e) => group.hover(at(tokenAt(e))));
  text.addEventListener("pointerleave", () => group.hover(null));
  text.addEventListener("click", (e) => {
    const i = tokenAt(e);
    if (i >= 0) group.pin(pinned() === i ? null : { token: i });
  });

  // --- the card
  function jump(label, find) {
    const i = store.tokens.findIndex(find);
    if (i < 0) return null;
    const button = make("button", "hsd-jump", label);
    button.addEventListener("click", () => { group.pin({ token: i }); spans[i].scrollIntoView({ block: "nearest" }); out.focus({ preventScroll: true }); });
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
        ? "Hover a token to preview where it came from; click it (or press Enter) to keep it here. ← → move by event, with Shift by round; Esc lets go."
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
    const wrap = focusable(make("div", "hsd-table")); // it may be wider than the card
    wrap.setAttribute("role", "group");
    wrap.setAttribute("aria-label", "Draft tokens");
    const t = make("table");
    const has = (k) => drafts.some((d) => d[k] !== null && d[k] !== undefined);
    const columns = [["verdict", (d) => VERDICT_MARKS[d.verdict] || d.verdict], ["token", null], ["source", (d) => d.source],
      ["p", (d) => figure(d.p)], ["q", (d) => figure(d.q)]];
    if (has("u")) columns.push(["u", (d) => figure(d.u)]);
    if (has("key")) columns.push(["key", (d) => d.key ?? "–"]);
    if (has("count")) columns.push(["count", (d) => d.count ?? "–"]);
    if (has("score")) columns.push(["score", (d) => figure(d.score)]);
    if (has("position")) columns.push(["from", (d) => d.position ?? "–"]);
    const titles = { p: "the verifier's probability", q: "the drafter's probability", u: "uniform draw: accepted where u·q < p",
      key: "tokens of the text that matched", count: "times seen", score: "estimated acceptance", from: "position in the text it was copied from" };
    const top = make("tr");
    for (const [name] of columns) {
      const th = make("th");
      th.append(make("span", name === "verdict" ? "hsd-heard" : "", name));
      th.scope = "col";
      if (titles[name]) th.title = titles[name];
      top.append(th);
    }
    const thead = make("thead");
    thead.append(top);
    const tbody = make("tbody");
    for (const d of drafts.slice(0, MAX_ROWS)) {
      const tr = make("tr");
      tr.dataset.verdict = d.verdict;
      if (d === mine) tr.classList.add("hsd-mine");
      for (const [name, value] of columns) {
        const td = make("td", name === "verdict" ? "hsd-mark" : "", value ? String(value(d)) : undefined);
        if (name === "verdict") td.setAttribute("aria-label", d.verdict);
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
    const big = make("h3");
    big.append(make("code", "hsd-big", glyphs(t.text) || "∅"));
    big.dataset.family = family(t.source);
    const close = make("button", "hsd-close", "Unpin");
    close.hidden = pinned() !== i;
    close.addEventListener("click", () => { group.pin(null); out.focus({ preventScroll: true }); });
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
    const { events } = store.index();
    const event = events[group.cursor.step];
    card.replaceChildren(head, what);
    // The cursor may stand on what happened at this place before the token was out.
    if (event && event.shown <= i) card.append(make("p", "hsd-event", eventWords(store, palette, group.cursor.step)));
    card.append(make("p", "hsd-story", story(t, row)), facts(pairs));
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
  const onLive = () => {
    root.classList.toggle("hsd-live", model.get("live"));
    show();
  };
  store.listeners.add(onStore);
  group.listeners.add(onCursor);
  model.on("change:pinned", onPinned);
  model.on("change:live", onLive);
  onPinned();
  onLive();
  onStore("reset", 0);
  // Steps sent while this page was away are lost: ask for what is authoritative.
  if (model.get("live")) model.send({ kind: "sync" });
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
    group.listeners.delete(onCursor);
    model.off("change:pinned", onPinned);
    model.off("change:live", onLive);
    untoggle.forEach((f) => f());
  };
}

export default linkedWidget(streamView);
