// The texts by output position: a column per position, a row per run.
import { html, nothing, render } from "lit-html";
import { focusable, make } from "../lib/dom";
import { failInto } from "../lib/notice";
import type { Palette } from "../lib/palette";
import { duration, figure, glyphs, KIND_WORDS, plural } from "../lib/words";
import type { Run } from "./race";
import { gapWords, inColumn, lineStarts, runAt, spentAt } from "./race";
import type { RaceState } from "./state";
import { createFollow, topFor } from "./state";

/** A run compared with a reference: `at` is the first different output position, or null. */
export interface Agreement {
  run: number;
  against: number;
  at: number | null;
  state: "same" | "apart" | "broken";
  words: string;
  why: string;
}

const HINT =
  "← → move by position, with Shift by round of the row selected by ↑ ↓; Home, End; Enter pins, Esc unpins, Space races";
const STATE_SIGNS = { same: "=", apart: "≠", broken: "!" };

/** The legend: sources and shapes. */
function legendOf(runs: Run[], palette: Palette) {
  const tokens = runs.flatMap((r) => r.tokens);
  const kinds = ["accepted", "correction", "bonus", "plain"].filter((kind) => tokens.some((t) => t.kind === kind));
  const key = (sample: unknown, words: string) => html`<span class="hsd-vs-key">${sample}${words}</span>`;
  return html`<div class="hsd-vs-legend">
    ${[...new Set(tokens.map((t) => t.source))].map((source) =>
      key(html`<span class="hsd-vs-swatch" data-family=${palette.family(source)}></span>`, palette.words(source)),
    )}
    ${kinds.map((kind) => key(html`<span class="hsd-vs-tok" data-kind=${kind} aria-hidden="true">ab</span>`, kind))}
    ${key(html`<span class="hsd-vs-swatch-round">12</span>`, "a round, with target forward passes so far")}
  </div>`;
}

/** A token of a run for screen readers. */
function tokenWords(run: Run, k: number, palette: Palette) {
  const t = run.tokens[k];
  if (!t) return `${run.letter} has ended`;
  const passes = spentAt(run, k)?.forwards;
  return `${run.letter} “${glyphs(t.text)}”, ${KIND_WORDS[t.kind] || t.kind}${t.kind === "accepted" ? ` from ${palette.phrase(t.source)}` : ""}, target forward pass ${passes}`;
}

/** The texts: a column per output position, a row per run. */
export function scoreOf(state: RaceState, palette: Palette, agreement: Agreement[]) {
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
  const from = Math.min(Infinity, ...apart.map((a) => a.at ?? Infinity));
  const cells = runs.map(() => [] as HTMLElement[]);
  const columns = Array.from({ length: state.longest }, (_, k) => {
    const column = make("div", "hsd-vs-col");
    column.id = `${uid}-${k}`;
    column.dataset.k = String(k);
    column.setAttribute("role", "option");
    column.setAttribute(
      "aria-label",
      `Output position ${k + 1}: ${runs.map((r) => tokenWords(r, k, palette)).join("; ")}`,
    );
    const differs = apart.filter((a) => a.at === k);
    const number = make("span", "hsd-vs-num", differs.length ? "≠" : k === 0 || (k + 1) % 5 === 0 ? String(k + 1) : "");
    if (differs.length) {
      number.title = "first difference";
      number.classList.add("hsd-vs-unlike");
    }
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
  const again = make("button", "hsd-vs-follow", "Follow the race");
  again.title = "Scroll to the newest token of the leading run";
  render(
    html`<h3>Texts by output position</h3>
      ${agreementOf(agreement)}${legendOf(runs, palette)}
      <div class="hsd-vs-frame">${scroll}${again}</div>
      ${readout}`,
    root,
  );

  // Letters are placed at line starts, which only the browser knows.
  let drawn = "";
  function label() {
    const tops = columns.map((c) => c.offsetTop);
    const starts = lineStarts(tops).map((i) => tops[i]);
    if (starts.join() === drawn) return;
    drawn = starts.join();
    const line = (top: number) =>
      html`<div class="hsd-vs-line" .style=${`top: ${top}px`}>${runs.map((r) => html`<b class="hsd-vs-letter">${r.letter}</b>`)}</div>`;
    render(starts.map(line), gutter);
  }
  const observer = new ResizeObserver(label);
  observer.observe(list);

  const out = runs.map((r) => r.tokens.length);
  function fade() {
    runs.forEach((run, i) => {
      const shown = runAt(run, state.t).shown;
      for (let k = Math.min(shown, out[i]); k < Math.max(shown, out[i]); k++)
        cells[i][k].classList.toggle("hsd-vs-notyet", k >= shown);
      out[i] = shown;
    });
  }

  // During the race, the leading run's line stays visible.
  const follow = createFollow(() => keepUp());
  function keepUp() {
    const over = state.t >= state.end;
    again.hidden = follow.on || over;
    const newest = columns[Math.max(...runs.map((r) => runAt(r, state.t).shown)) - 1];
    if (over || !follow.on) return;
    const line = newest
      ? { top: newest.offsetTop, bottom: newest.offsetTop + newest.offsetHeight + 16 }
      : { top: 0, bottom: 0 };
    scroll.scrollTop = topFor(line, scroll.scrollTop, scroll.clientHeight);
    follow.put(scroll.scrollTop);
  }
  scroll.addEventListener(
    "scroll",
    () => {
      if (state.t < state.end) follow.seen(scroll.scrollTop);
    },
    { passive: true },
  );
  again.addEventListener("click", () => {
    follow.set(true);
    list.focus({ preventScroll: true });
  });
  let playing = false;

  let marked: Element[] = [];
  function mark() {
    for (const node of marked) node.classList.remove("hsd-vs-on", "hsd-vs-pinned", "hsd-vs-mate", "hsd-vs-active");
    for (const node of root.querySelectorAll("[aria-selected=true]")) node.removeAttribute("aria-selected");
    marked = [];
    const add = (node: Element | undefined, cls: string) => {
      if (node) {
        node.classList.add(cls);
        marked.push(node);
      }
    };
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
  function reveal(column: HTMLElement) {
    const top = column.offsetTop - 8;
    const bottom = column.offsetTop + column.offsetHeight + 8;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (bottom > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = bottom - scroll.clientHeight;
  }

  function cardOf(run: Run, i: number) {
    const t = run.tokens[state.at];
    const own = spentAt(run, state.at);
    const first = spentAt(runs[0], state.at);
    const letter = html`<b class="hsd-vs-letter">${run.letter}</b>`;
    if (!t || !own) {
      const words = t ? "" : `ended after ${plural(run.tokens.length, "token")}`;
      return html`<div class="hsd-vs-card"><p class="hsd-vs-card-head">${letter}${words}</p></div>`;
    }
    const { below: forwards, drafted, accepted } = own.round;
    const below = Object.entries(forwards).map(([name, n]) => `${plural(n, "forward")} of ${name}`);
    const passes = plural(own.forwards, "target forward pass");
    const drafts = drafted ? `${accepted} of ${plural(drafted, "draft token")} accepted` : "no draft";
    const how =
      t.kind === "accepted"
        ? `accepted, from ${palette.phrase(t.source)}`
        : `${KIND_WORDS[t.kind]}`.replace(" by the target", ", by the target");
    return html`<div class="hsd-vs-card">
      <p class="hsd-vs-card-head">${letter}<code class="hsd-vs-said" data-family=${palette.family(t.source)}>${inColumn(t.text)}</code></p>
      <p>${how}</p>
      <p class="hsd-vs-strong">after ${passes}, ${duration(own.ns)}</p>
      ${i && first ? html`<p>${gapWords(own, first, runs[0].letter)}</p>` : nothing}
      <p class="hsd-vs-hint">this round: ${[drafts, below.join(", ")].filter(Boolean).join("; ")}</p>
      <p class="hsd-vs-hint">${t.p === null ? "" : `p ${figure(t.p)}, entropy ${figure(t.entropy)} nats`}</p>
    </div>`;
  }
  function tell() {
    const where = state.chosen ? (state.pin >= 0 ? ", pinned" : "") : ": the end";
    render(
      html`<p class="hsd-vs-readout-head"
          ><span><b>Output position ${state.at + 1}</b> of ${state.longest}${where}</span
          ><span class="hsd-vs-hint">Keys: ${HINT}.</span></p>
        <div class="hsd-vs-cards">${runs.map(cardOf)}</div>`,
      readout,
    );
  }

  const place = (e: Event): [number, number | undefined] | null => {
    const target = e.target as Element;
    const column = target.closest<HTMLElement>(".hsd-vs-col");
    const cell = target.closest<HTMLElement>(".hsd-vs-cell");
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
  const changed = (what: "cursor" | "clock") => {
    if (what !== "clock") {
      mark();
      return;
    }
    fade();
    // Starting the race scrolls to it.
    if (state.playing && !playing && state.t === 0) follow.set(true);
    playing = state.playing;
    keepUp();
  };
  state.listeners.add(changed, failInto(root));
  mark();
  keepUp();
  return { root, list, end: () => observer.disconnect() };
}

/** Whether the texts agree, whether they must, and why. */
const agreementOf = (agreement: Agreement[]) =>
  html`<ul class="hsd-vs-agreement">${agreement.map((a, i) => {
    // A reason shared by several runs is shown once, after the last.
    const why = agreement[i + 1]?.why === a.why ? "" : ` ${a.why}`;
    const sign = html`<span class="hsd-vs-sign" aria-hidden="true">${STATE_SIGNS[a.state]}</span>`;
    return html`<li class="hsd-vs-${a.state}">${sign}<span>${a.words}${why}</span></li>`;
  })}</ul>`;
