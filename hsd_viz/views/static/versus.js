// @ts-check
// Runs of one prompt side by side: race, texts aligned by output position, figures. Stands behind linked_run.js, linked.js and
// race.js, whose names it uses. What is shown comes whole from Python (hsd_viz/views/versus.py); the cursor and the clock live here.

const LANE = 22;
const STATE_SIGNS = { same: "=", apart: "≠", broken: "!" };
const HINT = "← → position, Shift by round of the row that ↑ ↓ choose, Home End, Enter pins, Esc lets go, Space races";

/** A letter for a run, with its words and stack: the same wherever a run is named. */
function nameOf(run) {
  const node = make("span", "hsd-vs-name");
  const text = make("span", "hsd-vs-name-text");
  text.append(make("span", "hsd-vs-title", run.title || run.stack));
  if (run.title) text.append(make("code", "hsd-vs-stack", run.stack));
  node.append(make("b", "hsd-vs-letter", run.letter), text);
  return node;
}

/** The cursor over output positions, and the clock of the race: what all parts of the page follow. */
function createState(runs) {
  const longest = Math.max(...runs.map((r) => r.tokens.length));
  const fewest = runs.reduce((best, r, i) => (r.rounds.length < runs[best].rounds.length ? i : best), 0);
  const state = {
    runs, longest,
    hover: -1, key: -1, pin: -1, row: fewest,
    /** Time of the race, ns; what came later is not out yet. */
    t: raceEnd(runs), end: raceEnd(runs), playing: false,
    /** @type {Set<(what: string) => void>} */ listeners: new Set(),
    tell(what) { for (const f of [...state.listeners]) f(what); },
    /** The position looked at; the last one where none is. */
    get at() { return [state.pin, state.hover, state.key, longest - 1].find((k) => k >= 0) ?? 0; },
    get chosen() { return state.pin >= 0 || state.hover >= 0 || state.key >= 0; },
    look(k, row) {
      if (state.hover === k && (row === undefined || state.row === row)) return;
      state.hover = k;
      if (row !== undefined && state.pin < 0) state.row = row;
      state.tell("cursor");
    },
    go(k, row = state.row) {
      const to = Math.max(0, Math.min(longest - 1, k));
      Object.assign(state, { key: to, hover: -1, row, pin: state.pin >= 0 ? to : -1 });
      state.tell("cursor");
    },
    keep(k, row = state.row) {
      Object.assign(state, { pin: k, key: k >= 0 ? k : state.key, row });
      state.tell("cursor");
    },
    release() { Object.assign(state, { pin: -1, key: -1, hover: -1 }); state.tell("cursor"); },
    set(t, playing = state.playing) {
      Object.assign(state, { t: Math.max(0, Math.min(state.end, t)), playing });
      state.tell("clock");
    },
  };
  return state;
}

/** The race: a lane for each run, a clock to play or to drag. */
function raceOf(state, palette, still) {
  const { runs } = state;
  const root = make("section", "hsd-vs-race");
  root.setAttribute("aria-label", "Race");
  const field = make("div", "hsd-vs-lanes");
  root.append(make("h3", "", "Race"), field);
  const lanes = runs.map((run) => {
    const track = make("div", "hsd-vs-track");
    const box = draw("svg", { viewBox: `0 0 ${state.longest} ${LANE}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const paths = new Map();
    run.tokens.forEach((t, k) => {
      const family = palette.family(t.source);
      paths.set(family, `${paths.get(family) || ""}M${k} 0h1v${LANE}h-1z`);
    });
    for (const [family, d] of paths) box.append(draw("path", { d, class: "hsd-vs-fill", "data-family": family }));
    box.append(draw("path", { d: run.rounds.map((r) => `M${r.first} 0V${LANE}`).join(""), class: "hsd-vs-seams" }));
    const later = make("div", "hsd-vs-later");
    const air = make("div", "hsd-vs-air");
    const part = make("span");
    air.append(part);
    const here = make("div", "hsd-vs-here");
    const finish = make("div", "hsd-vs-finish");
    finish.style.left = `${(100 * run.tokens.length) / state.longest}%`;
    track.append(box, later, air, here, finish);
    const count = make("span", "hsd-vs-count");
    const note = make("span", "hsd-vs-note");
    const score = make("div", "hsd-vs-lane-score");
    score.append(count, note);
    const lane = make("div", "hsd-vs-lane");
    lane.append(nameOf(run), track, score);
    field.append(lane);
    const under = (e) => {
      const b = track.getBoundingClientRect();
      return Math.max(0, Math.min(state.longest - 1, Math.floor(((e.clientX - b.left) / b.width) * state.longest)));
    };
    const row = runs.indexOf(run);
    track.addEventListener("pointermove", (e) => { if (e.pointerType === "mouse") state.look(under(e), row); });
    track.addEventListener("pointerleave", () => state.look(-1));
    track.addEventListener("click", (e) => state.keep(under(e), row));
    return { run, later, air, part, here, count, note, lane };
  });

  const controls = make("div", "hsd-vs-controls");
  const play = make("button", "hsd-vs-play");
  const slider = /** @type {HTMLInputElement} */ (make("input", "hsd-vs-slider"));
  Object.assign(slider, { type: "range", min: "0", max: "1000", step: "1" });
  slider.setAttribute("aria-label", "Time of the race");
  const clock = make("output", "hsd-vs-clock");
  const speed = /** @type {HTMLSelectElement} */ (make("select"));
  speed.setAttribute("aria-label", "Speed of the race");
  for (const [value, words] of SPEEDS) {
    const option = /** @type {HTMLOptionElement} */ (make("option", "", words));
    option.value = value;
    speed.append(option);
  }
  speed.value = fitSpeed(state.end);
  const words = make("p", "hsd-vs-standing");
  const prefill = runs.map((r) => `${r.letter} ${duration(r.prefill_ns)}`).join(", ");
  const hint = make("p", "hsd-vs-hint", `Recorded times, from the end of prefill (left out: ${prefill}). Outlined: the round in progress, as far as its draft can reach.`);
  controls.append(play, slider, clock, speed);
  root.append(controls, words, hint);

  let frame = 0;
  let before = 0;
  const stop = () => { cancelAnimationFrame(frame); state.set(state.t, false); };
  function tick(now) {
    const t = state.t + (now - before) * 1e6 * Number(speed.value);
    before = now;
    state.set(t, t < state.end);
    if (state.playing) frame = requestAnimationFrame(tick);
  }
  const toggle = () => {
    if (still()) return;
    if (state.playing) { stop(); return; }
    state.set(state.t >= state.end ? 0 : state.t, true);
    before = performance.now();
    frame = requestAnimationFrame(tick);
  };
  play.addEventListener("click", toggle);
  slider.addEventListener("input", () => { cancelAnimationFrame(frame); state.set((Number(slider.value) / 1000) * state.end, false); });

  function paint() {
    play.hidden = speed.hidden = still();
    play.textContent = state.playing ? "Pause" : state.t >= state.end ? "Start the race" : "Go on";
    slider.value = String(Math.round((1000 * state.t) / state.end));
    clock.textContent = `${(state.t / 1e6).toFixed(1)} ms`;
    const sentence = standing(runs, state.t);
    words.textContent = sentence;
    slider.setAttribute("aria-valuetext", `${clock.textContent}: ${sentence}`);
    for (const { run, later, air, part, count, note, lane } of lanes) {
      const now = runAt(run, state.t);
      const share = (/** @type {number} */ n) => `${(100 * n) / state.longest}%`;
      later.style.left = share(now.shown);
      air.hidden = now.reach === 0;
      air.style.left = share(now.shown);
      air.style.width = share(Math.min(now.reach, run.tokens.length - now.shown));
      part.style.width = `${100 * now.part}%`;
      lane.classList.toggle("hsd-vs-done", now.done);
      count.textContent = now.done && run.tokens_per_second ? `${run.tokens_per_second.toFixed(0)} tokens/s` : `${now.shown} of ${run.tokens.length}`;
      note.textContent = now.done ? `${plural(run.tokens.length, "token")} in ${duration(run.end)}` : plural(now.forwards, "target forward");
    }
  }
  function mark() {
    for (const { here } of lanes) {
      here.hidden = !state.chosen;
      here.style.left = `${(100 * (state.at + 0.5)) / state.longest}%`;
    }
  }
  state.listeners.add((what) => (what === "clock" ? paint() : mark()));
  paint();
  mark();
  return { root, toggle, end: () => cancelAnimationFrame(frame) };
}

/** Sources and shapes that occur. */
function legendOf(runs, palette) {
  const legend = make("div", "hsd-vs-legend");
  const sources = [...new Set(runs.flatMap((r) => r.tokens.map((t) => t.source)))];
  for (const source of sources) {
    const item = make("span", "hsd-vs-key");
    const swatch = make("span", "hsd-vs-swatch");
    swatch.dataset.family = palette.family(source);
    item.append(swatch, palette.words(source));
    legend.append(item);
  }
  for (const kind of ["accepted", "correction", "bonus", "plain"].filter((k) => runs.some((r) => r.tokens.some((t) => t.kind === k)))) {
    const item = make("span", "hsd-vs-key");
    const sample = make("span", "hsd-vs-tok", "ab");
    sample.dataset.kind = kind;
    sample.setAttribute("aria-hidden", "true");
    item.append(sample, kind);
    legend.append(item);
  }
  const item = make("span", "hsd-vs-key");
  item.append(make("span", "hsd-vs-swatch-round", "12"), "a round, and the target forwards spent with it");
  legend.append(item);
  return legend;
}

/** One token of one run in words, for those who hear it. */
function tokenWords(run, k, palette) {
  const t = run.tokens[k];
  if (!t) return `${run.letter} has ended`;
  return `${run.letter} “${glyphs(t.text)}”, ${KIND_WORDS[t.kind] || t.kind}${t.kind === "accepted" ? ` from ${palette.phrase(t.source)}` : ""}, target forward ${spentAt(run, k).forwards}`;
}

/** The texts, a column for each output position and in it a row for each run. */
function scoreOf(state, palette, agreement) {
  const { runs } = state;
  const uid = `hsdvs${Math.random().toString(36).slice(2, 9)}`;
  const root = make("section", "hsd-vs-texts");
  root.setAttribute("aria-label", "Texts");
  const scroll = make("div", "hsd-vs-scroll");
  scroll.tabIndex = -1;
  const list = focusable(make("div", "hsd-vs-score"));
  list.style.setProperty("--rows", String(runs.length));
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", `Output positions. ${HINT}.`);
  const gutter = make("div", "hsd-vs-gutter");
  gutter.setAttribute("aria-hidden", "true");
  const apart = agreement.filter((a) => a.at !== null);
  const from = Math.min(Infinity, ...apart.map((a) => a.at));
  const cells = runs.map(() => /** @type {HTMLElement[]} */ ([]));
  const columns = Array.from({ length: state.longest }, (_, k) => {
    const column = make("div", "hsd-vs-col");
    column.id = `${uid}-${k}`;
    column.dataset.k = String(k);
    column.setAttribute("role", "option");
    column.setAttribute("aria-label", `Output position ${k + 1}: ${runs.map((r) => tokenWords(r, k, palette)).join("; ")}`);
    const differs = apart.filter((a) => a.at === k);
    const number = make("span", "hsd-vs-num", differs.length ? "≠" : k === 0 || (k + 1) % 5 === 0 ? String(k + 1) : "");
    if (differs.length) { number.title = "the first difference"; number.classList.add("hsd-vs-unlike"); }
    column.classList.toggle("hsd-vs-apart", k >= from);
    column.append(number);
    runs.forEach((run, i) => {
      const t = run.tokens[k];
      const cell = make("span", "hsd-vs-cell");
      cell.dataset.row = String(i);
      column.append(cell);
      if (!t) return;
      const token = make("span", "hsd-vs-tok", inColumn(t.text));
      token.dataset.kind = t.kind;
      cell.dataset.family = palette.family(t.source);
      const round = run.rounds[t.round];
      const bracket = make("span", "hsd-vs-round", k === round.first ? String(round.forwards) : "");
      bracket.classList.toggle("hsd-vs-opens", k === round.first);
      bracket.classList.toggle("hsd-vs-closes", k === round.first + round.count - 1);
      if (differs.some((a) => a.run === i || a.against === i)) token.classList.add("hsd-vs-differs");
      cell.append(token, bracket);
      cells[i].push(cell);
    });
    return column;
  });
  list.append(gutter, ...columns);
  scroll.append(list);
  const readout = make("div", "hsd-vs-readout");
  root.append(legendOf(runs, palette), scroll, readout);

  // The letters stand before each line; where lines begin only the browser knows.
  let drawn = "";
  function label() {
    const tops = columns.map((c) => c.offsetTop);
    const starts = lineStarts(tops).map((i) => tops[i]);
    if (starts.join() === drawn) return;
    drawn = starts.join();
    gutter.replaceChildren(...starts.map((top) => {
      const line = make("div", "hsd-vs-line");
      line.style.top = `${top}px`;
      line.append(...runs.map((r) => make("b", "hsd-vs-letter", r.letter)));
      return line;
    }));
  }
  const observer = new ResizeObserver(label);
  observer.observe(list);

  const out = runs.map((r) => r.tokens.length);
  function fade() {
    runs.forEach((run, i) => {
      const shown = runAt(run, state.t).shown;
      for (let k = Math.min(shown, out[i]); k < Math.max(shown, out[i]); k++) cells[i][k].classList.toggle("hsd-vs-notyet", k >= shown);
      out[i] = shown;
    });
  }

  /** @type {Element[]} */
  let marked = [];
  function mark() {
    for (const node of marked) node.classList.remove("hsd-vs-on", "hsd-vs-pinned", "hsd-vs-mate", "hsd-vs-active");
    for (const node of root.querySelectorAll("[aria-selected=true]")) node.removeAttribute("aria-selected");
    marked = [];
    const add = (node, cls) => { if (node) { node.classList.add(cls); marked.push(node); } };
    if (state.chosen) {
      const column = columns[state.at];
      add(column, "hsd-vs-on");
      if (state.pin >= 0) add(column, "hsd-vs-pinned");
      column.setAttribute("aria-selected", "true");
      list.setAttribute("aria-activedescendant", column.id);
      runs.forEach((run, i) => {
        const round = spentAt(run, state.at)?.round;
        for (let k = round?.first ?? 0; round && k < round.first + round.count; k++) add(cells[i][k], "hsd-vs-mate");
      });
      add(cells[state.row][state.at], "hsd-vs-active");
    } else list.removeAttribute("aria-activedescendant");
    if (state.hover < 0 && state.chosen) reveal(columns[state.at]);
    tell();
  }
  function reveal(column) {
    const top = column.offsetTop - 8;
    const bottom = column.offsetTop + column.offsetHeight + 8;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (bottom > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = bottom - scroll.clientHeight;
  }

  function tell() {
    const k = state.at;
    const head = make("p", "hsd-vs-readout-head");
    const where = make("span");
    where.append(make("b", "", `Output position ${k + 1}`), ` of ${state.longest}${state.chosen ? (state.pin >= 0 ? ", pinned" : "") : ": the end"}`);
    head.append(where, make("span", "hsd-vs-hint", `Keys: ${HINT}.`));
    const cards = make("div", "hsd-vs-cards");
    const first = spentAt(runs[0], k);
    runs.forEach((run, i) => {
      const card = make("div", "hsd-vs-card");
      const t = run.tokens[k];
      const line = make("p", "hsd-vs-card-head");
      line.append(make("b", "hsd-vs-letter", run.letter));
      card.append(line);
      cards.append(card);
      if (!t) { line.append(`ended after ${plural(run.tokens.length, "token")}`); return; }
      const own = spentAt(run, k);
      const token = make("code", "hsd-vs-said", inColumn(t.text));
      token.dataset.family = palette.family(t.source);
      line.append(token);
      card.append(make("p", "", t.kind === "accepted" ? `accepted, from ${palette.phrase(t.source)}` : `${KIND_WORDS[t.kind]}`.replace(" by the target", ", by the target")));
      card.append(make("p", "hsd-vs-strong", `after ${plural(own.forwards, "target forward")}, ${duration(own.ns)}`));
      if (i && first) card.append(make("p", "", gapWords(own, first, runs[0].letter)));
      const r = own.round;
      const below = Object.entries(r.below).map(([name, n]) => `${plural(n, "forward")} of ${name}`).join(", ");
      const drafts = r.drafted ? `${r.accepted} of ${plural(r.drafted, "draft token")} accepted` : "no draft";
      card.append(make("p", "hsd-vs-hint", `this round: ${drafts}${below ? `; ${below}` : ""}`));
      card.append(make("p", "hsd-vs-hint", t.p === null ? "" : `p ${figure(t.p)}, entropy ${figure(t.entropy)} nats`));
    });
    readout.replaceChildren(head, cards);
  }

  const place = (e) => {
    const column = e.target.closest?.(".hsd-vs-col");
    const cell = e.target.closest?.(".hsd-vs-cell");
    return column ? [Number(column.dataset.k), cell ? Number(cell.dataset.row) : undefined] : null;
  };
  list.addEventListener("pointerover", (e) => {
    const at = place(e);
    if (e.pointerType === "mouse" && at) state.look(at[0], at[1]);
  });
  list.addEventListener("pointerleave", () => state.look(-1));
  list.addEventListener("click", (e) => {
    const at = place(e);
    if (at) state.keep(state.pin === at[0] ? -1 : at[0], at[1] ?? state.row);
  });
  state.listeners.add((what) => (what === "clock" ? fade() : mark()));
  mark();
  return { root, list, end: () => observer.disconnect() };
}

/** Whether the texts agree, whether they must, and why. */
function agreementOf(agreement) {
  const root = make("ul", "hsd-vs-agreement");
  agreement.forEach((a, i) => {
    const item = make("li", `hsd-vs-${a.state}`);
    const sign = make("span", "hsd-vs-sign", STATE_SIGNS[a.state]);
    sign.setAttribute("aria-hidden", "true");
    // What explains several runs is said once, after the last of them.
    const why = agreement[i + 1]?.why === a.why ? "" : ` ${a.why}`;
    item.append(sign, make("span", "", a.words + why));
    root.append(item);
  });
  return root;
}

/** The figures, each with its difference to the first run; a name explains itself when it is pointed at or has the focus. */
function tableOf(rows, runs) {
  const root = make("section", "hsd-vs-figures");
  root.setAttribute("aria-label", "Figures");
  root.append(make("h3", "", "Figures"));
  const table = make("table");
  table.style.setProperty("--runs", String(runs.length));
  const head = make("tr");
  head.append(make("th", "hsd-vs-corner", `and the difference to ${runs[0].letter}`));
  for (const run of runs) {
    const cell = make("th");
    cell.scope = "col";
    cell.append(nameOf(run));
    head.append(cell);
  }
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  const bubble = make("div", "hsd-vs-bubble");
  bubble.id = `hsdvs${Math.random().toString(36).slice(2, 9)}`;
  bubble.setAttribute("role", "tooltip");
  bubble.hidden = true;
  const hide = () => { bubble.hidden = true; };
  for (const row of rows) {
    const line = make("tr", row.part ? "hsd-vs-part" : "");
    const name = make("th");
    name.scope = "row";
    const term = make("button", "hsd-vs-term", row.name);
    term.setAttribute("aria-describedby", bubble.id);
    const explain = () => {
      bubble.textContent = row.definition;
      bubble.hidden = false;
      const at = term.getBoundingClientRect();
      const frame = root.getBoundingClientRect();
      bubble.style.left = `${Math.max(0, Math.min(at.left - frame.left, frame.width - bubble.offsetWidth))}px`;
      bubble.style.top = `${at.bottom - frame.top + 4}px`;
    };
    term.addEventListener("pointerenter", explain);
    term.addEventListener("focus", explain);
    term.addEventListener("click", explain);
    term.addEventListener("pointerleave", () => { if (document.activeElement !== term) hide(); });
    term.addEventListener("blur", hide);
    term.addEventListener("keydown", (e) => { if (e.key === "Escape" && !bubble.hidden) { hide(); e.stopPropagation(); } });
    name.append(term);
    line.append(name);
    row.cells.forEach((c, i) => {
      const cell = make("td");
      cell.append(make("span", "hsd-vs-value", c.value), make("span", "hsd-vs-diff", c.difference));
      cell.dataset.letter = runs[i].letter;
      line.append(cell);
    });
    body.append(line);
  }
  table.append(top, body);
  root.append(table, bubble);
  return root;
}

/** What the target makes of texts that rightly differ. */
function distributionOf(found) {
  const root = make("section", "hsd-vs-distribution");
  root.setAttribute("aria-label", "Texts compared as draws");
  root.append(make("h3", "", "Different texts, compared as draws"), make("p", "", found.words));
  const grid = make("div", "hsd-vs-cards");
  const most = Math.max(...found.runs.flatMap((r) => r.shares));
  for (const run of found.runs) {
    const card = make("figure", "hsd-vs-card");
    const line = make("figcaption", "hsd-vs-card-head");
    line.append(make("b", "hsd-vs-letter", run.letter), make("span", "", `${plural(run.tokens, "token")}`));
    const facts = make("p", "", `mean p ${run.p}, mean entropy ${run.entropy} nats`);
    const picture = draw("svg", { viewBox: "0 0 300 80", role: "img", "aria-label": `Share of tokens by p, in tenths: ${run.shares.map((s) => `${Math.round(100 * s)} %`).join(", ")}` });
    run.shares.forEach((s, i) => {
      const h = (60 * s) / most;
      picture.append(draw("rect", { x: i * 30 + 1, y: 60 - h, width: 28, height: h, class: "hsd-vs-share" }));
    });
    picture.append(draw("path", { d: "M0 60.5H300", class: "hsd-vs-axis" }));
    for (const [x, text, anchor] of [[0, "p 0", "start"], [150, "0.5", "middle"], [300, "1", "end"]]) picture.append(draw("text", { x, y: 75, "text-anchor": anchor }, String(text)));
    card.append(line, picture, facts);
    grid.append(card);
  }
  root.append(grid, make("p", "hsd-vs-hint", "p and entropy are the target’s at temperature 1, of the tokens it emitted; ± is a standard error as if tokens were independent, which they are not."));
  return root;
}

/** Recordings to choose from. */
function chooserOf(model) {
  const root = make("div", "hsd-vs-chooser");
  const send = (name, value) => { model.set(name, value); model.save_changes(); };
  function paint() {
    const choices = model.get("choices") || [];
    root.hidden = !choices.length;
    const focused = root.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.name : null;
    const group = choices.find((g) => g.group === model.get("group"));
    const row = (label, items) => {
      const line = make("div", "hsd-vs-choices");
      line.setAttribute("role", "group");
      line.setAttribute("aria-label", label);
      line.append(make("span", "hsd-vs-choices-label", label), ...items);
      return line;
    };
    const chip = (name, words, on, act, title = "") => {
      const node = make("button", "hsd-vs-chip", words);
      node.setAttribute("aria-pressed", String(on));
      node.dataset.name = name;
      if (title) node.title = title;
      node.addEventListener("click", act);
      return node;
    };
    const groups = choices.map((g) => chip(g.group, g.title, g === group, () => send("group", g.group)));
    const chosen = model.get("chosen") || [];
    const runs = (group ? group.runs : []).map((r) => {
      const on = chosen.includes(r.name);
      return chip(r.name, r.title, on, () => send("chosen", on ? chosen.filter((n) => n !== r.name) : [...chosen, r.name]), `${r.stack}: ${r.blurb}`);
    });
    root.replaceChildren(row("Recorded", groups), row("Two or three of", runs));
    if (focused) for (const node of root.querySelectorAll("button")) if (node.dataset.name === focused) node.focus();
  }
  for (const name of ["choices", "group", "chosen"]) model.on(`change:${name}`, paint);
  paint();
  return { root, end: () => { for (const name of ["choices", "group", "chosen"]) model.off(`change:${name}`, paint); } };
}

function render({ model, el }) {
  const root = make("div", "hsd-linked hsd-versus");
  const palette = paletteOf(model.get("palette"));
  palette.paint(root);
  const unfollow = followTheme(root, () => {});
  const chooser = chooserOf(model);
  const refusal = make("p", "hsd-vs-refusal");
  refusal.setAttribute("role", "alert");
  const body = make("div", "hsd-vs-body");
  root.append(chooser.root, refusal, body);
  el.append(root);
  const motion = matchMedia("(prefers-reduced-motion: reduce)");

  /** @type {any} */ let state = null;
  /** @type {any} */ let race = null;
  /** @type {any} */ let score = null;
  const close = () => { race?.end(); score?.end(); state = race = score = null; };
  const refuse = () => { refusal.textContent = model.get("refusal"); refusal.hidden = !refusal.textContent; };
  function open() {
    close();
    const data = model.get("data");
    body.replaceChildren();
    if (!data?.runs?.length) return;
    state = createState(data.runs.map(readRun));
    race = raceOf(state, palette, () => motion.matches);
    score = scoreOf(state, palette, data.agreement);
    const about = make("p", "hsd-vs-about");
    const prompt = make("code", "hsd-vs-prompt", brief(data.prompt));
    prompt.title = "the prompt of all runs";
    about.append(prompt, make("span", "", data.facts.join(" · ")));
    body.append(about);
    if (data.caution) body.append(make("p", "hsd-vs-caution", data.caution));
    const texts = make("h3", "", "Texts by output position");
    score.root.prepend(texts, agreementOf(data.agreement));
    body.append(race.root, score.root, tableOf(data.table, state.runs));
    if (data.distribution) body.append(distributionOf(data.distribution));
    state.listeners.add((what) => {
      if (what !== "cursor" || model.get("pinned") === state.pin) return;
      model.set("pinned", state.pin);
      model.save_changes();
    });
  }
  const pinned = () => { if (state && model.get("pinned") !== state.pin) state.keep(Math.min(model.get("pinned"), state.longest - 1)); };
  const keydown = (e) => {
    if (!state) return;
    const own = e.key === "Enter" || e.key === " " ? "button, input, select" : "input, select";
    if (e.key !== "Escape" && e.target.closest?.(own)) return;
    const base = state.key >= 0 ? state.key : -1;
    const row = (by) => Math.max(0, Math.min(state.runs.length - 1, state.row + by));
    const step = (by) => state.go(e.shiftKey ? roundStep(state.runs[state.row], Math.max(0, base), by) : base + by);
    const keys = {
      ArrowRight: () => step(1),
      ArrowLeft: () => step(-1),
      ArrowDown: () => state.go(Math.max(0, base), row(1)),
      ArrowUp: () => state.go(Math.max(0, base), row(-1)),
      Home: () => state.go(0),
      End: () => state.go(state.longest - 1),
      Enter: () => state.keep(state.at),
      Escape: () => state.release(),
      " ": () => race.toggle(),
    };
    if (!Object.hasOwn(keys, e.key)) return;
    keys[e.key]();
    e.preventDefault();
    e.stopPropagation();
  };
  root.addEventListener("keydown", keydown);
  model.on("change:data", open);
  model.on("change:refusal", refuse);
  model.on("change:pinned", pinned);
  refuse();
  open();
  const again = () => state?.tell("clock");
  motion.addEventListener("change", again);
  return () => {
    close();
    chooser.end();
    unfollow();
    motion.removeEventListener("change", again);
    model.off("change:data", open);
    model.off("change:refusal", refuse);
    model.off("change:pinned", pinned);
    root.remove();
  };
}

export default { render };
