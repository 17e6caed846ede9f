// The texts by output position: a column per position, a row per run.

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
  const legend = make("div", "hsd-vs-legend");
  const sources = [...new Set(runs.flatMap((r) => r.tokens.map((t) => t.source)))];
  for (const source of sources) {
    const item = make("span", "hsd-vs-key");
    const swatch = make("span", "hsd-vs-swatch");
    swatch.dataset.family = palette.family(source);
    item.append(swatch, palette.words(source));
    legend.append(item);
  }
  for (const kind of ["accepted", "correction", "bonus", "plain"].filter((k) =>
    runs.some((r) => r.tokens.some((t) => t.kind === k)),
  )) {
    const item = make("span", "hsd-vs-key");
    const sample = make("span", "hsd-vs-tok", "ab");
    sample.dataset.kind = kind;
    sample.setAttribute("aria-hidden", "true");
    item.append(sample, kind);
    legend.append(item);
  }
  const item = make("span", "hsd-vs-key");
  item.append(make("span", "hsd-vs-swatch-round", "12"), "a round, with target forward passes so far");
  legend.append(item);
  return legend;
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
  const frame = make("div", "hsd-vs-frame");
  frame.append(scroll, again);
  root.append(legendOf(runs, palette), frame, readout);

  // Letters are placed at line starts, which only the browser knows.
  let drawn = "";
  function label() {
    const tops = columns.map((c) => c.offsetTop);
    const starts = lineStarts(tops).map((i) => tops[i]);
    if (starts.join() === drawn) return;
    drawn = starts.join();
    gutter.replaceChildren(
      ...starts.map((top) => {
        const line = make("div", "hsd-vs-line");
        line.style.top = `${top}px`;
        line.append(...runs.map((r) => make("b", "hsd-vs-letter", r.letter)));
        return line;
      }),
    );
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

  function tell() {
    const k = state.at;
    const head = make("p", "hsd-vs-readout-head");
    const where = make("span");
    where.append(
      make("b", "", `Output position ${k + 1}`),
      ` of ${state.longest}${state.chosen ? (state.pin >= 0 ? ", pinned" : "") : ": the end"}`,
    );
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
      if (!t) {
        line.append(`ended after ${plural(run.tokens.length, "token")}`);
        return;
      }
      const own = spentAt(run, k);
      if (!own) return;
      const passes = plural(own.forwards, "target forward pass");
      const token = make("code", "hsd-vs-said", inColumn(t.text));
      token.dataset.family = palette.family(t.source);
      line.append(token);
      card.append(
        make(
          "p",
          "",
          t.kind === "accepted"
            ? `accepted, from ${palette.phrase(t.source)}`
            : `${KIND_WORDS[t.kind]}`.replace(" by the target", ", by the target"),
        ),
      );
      card.append(make("p", "hsd-vs-strong", `after ${passes}, ${duration(own.ns)}`));
      if (i && first) card.append(make("p", "", gapWords(own, first, runs[0].letter)));
      const r = own.round;
      const below = Object.entries(r.below)
        .map(([name, n]) => `${plural(n, "forward")} of ${name}`)
        .join(", ");
      const drafts = r.drafted ? `${r.accepted} of ${plural(r.drafted, "draft token")} accepted` : "no draft";
      card.append(make("p", "hsd-vs-hint", `this round: ${drafts}${below ? `; ${below}` : ""}`));
      card.append(make("p", "hsd-vs-hint", t.p === null ? "" : `p ${figure(t.p)}, entropy ${figure(t.entropy)} nats`));
    });
    readout.replaceChildren(head, cards);
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
export function agreementOf(agreement: Agreement[]) {
  const root = make("ul", "hsd-vs-agreement");
  agreement.forEach((a, i) => {
    const item = make("li", `hsd-vs-${a.state}`);
    const sign = make("span", "hsd-vs-sign", STATE_SIGNS[a.state]);
    sign.setAttribute("aria-hidden", "true");
    // A reason shared by several runs is shown once, after the last.
    const why = agreement[i + 1]?.why === a.why ? "" : ` ${a.why}`;
    item.append(sign, make("span", "", a.words + why));
    root.append(item);
  });
  return root;
}
