// Copy arcs: a strip of the text from left to right, with an arc from each copied passage to its
// source.
import { html, nothing, render, svg } from "lit-html";
import { axisX, frameOf } from "../lib/chart";
import { make, press, setAttributes } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { folded, tableOf } from "../lib/table";
import { plural, visible } from "../lib/words";
import { type Passage, textOf } from "./passages";

const SIZE = { left: 14, right: 14, top: 16, bottom: 20 };
/** Heights of the arcs and of the text's strip, in pixels. */
const OVER = 180;
const STRIP = 14;
/** Width of the arc of the longest passage at most, in pixels. */
const WIDEST = 24;
/** Number of tokens shown around a passage, and maximum number of rows of the table. */
const AROUND = 8;
const MAX_ROWS = 60;
const white = (text: string) => visible(text).replace(/\n/g, "⏎").replace(/\t/g, "⇥");

function longestOf(passages: readonly Passage[]): Passage | null {
  const longest = Math.max(0, ...passages.map(({ length }) => length));
  return passages.find(({ length }) => length === longest) ?? null;
}

function arcsView({ root, group, store, palette, follow, resized, soon }: View<object>) {
  root.classList.add("hsd-arcs");
  const plot = make("div", "hsd-arc-plot", "", { tabindex: 0, role: "group" });
  let text = textOf(store);
  /** The passage selected by the pointer or the keys; null: none. */
  let chosen: Passage | null = null;
  /** Return the passage shown: the longest one until another is selected. */
  const shownPassage = () => chosen ?? longestOf(text.passages);
  const words = (p: Passage) =>
    `Tokens ${p.at}–${p.at + p.length - 1}: ${plural(p.length, "token")} copied ` +
    `from position ${p.from}, ${plural(p.at - p.from, "token")} back (${palette.words(p.source)}).`;
  function choose(p: Passage | null, pin = false) {
    if (p === chosen && !pin) return;
    chosen = p;
    const where = p && { token: p.at - text.prompt };
    if (pin && where) group.pin(where);
    else group.hover(where);
    group.light(p?.from ?? null, pin);
    paint();
  }
  const walk = (by: number) => () => {
    const passages = text.passages;
    const index = chosen ? passages.indexOf(chosen) : by > 0 ? -1 : passages.length;
    choose(passages[Math.max(0, Math.min(passages.length - 1, index + by))] ?? null);
  };
  const leave = () => {
    choose(null);
    group.release();
  };
  const moves = { ArrowRight: walk(1), ArrowDown: walk(1), ArrowLeft: walk(-1), ArrowUp: walk(-1) };
  plot.addEventListener("keydown", (e) =>
    press(e, { ...moves, Enter: () => choose(chosen, true), Escape: leave }),
  );
  plot.addEventListener("pointerleave", () => {
    if (!group.cursor.pinned) choose(null);
  });

  function drawing() {
    const n = Math.max(1, text.ids.length);
    const base = OVER + SIZE.top;
    const foot = base + STRIP;
    const size = {
      ...SIZE,
      width: Math.max(280, plot.clientWidth || 640),
      height: foot + SIZE.bottom,
    };
    const f = frameOf(size, n, 1);
    const wide = f.x(1) - f.x(0);
    const longest = Math.max(1, ...text.passages.map((p) => p.at - p.from));
    /** Width of an arc per token, in pixels. */
    const unit = Math.min(wide, WIDEST / (longestOf(text.passages)?.length ?? 1));
    const marked = shownPassage();
    const arc = (p: Passage) => {
      const a = f.x(p.from + p.length / 2).toFixed(1);
      const b = f.x(p.at + p.length / 2).toFixed(1);
      const high = Math.max(8, OVER * Math.sqrt((p.at - p.from) / longest) * 0.97);
      const top = (base - (high * 4) / 3).toFixed(1);
      const d = `M${a} ${base}C${a} ${top} ${b} ${top} ${b} ${base}`;
      const chooser = (pin: boolean) => () =>
        pin || !group.cursor.pinned ? choose(p, pin) : undefined;
      return svg`<g class=${p === marked ? "hsd-arc hsd-on" : "hsd-arc"}
        data-family=${palette.family(p.source)}
        @pointerenter=${chooser(false)} @click=${chooser(true)}>
        <path d=${d} class="hsd-arc-line"
          stroke-width=${Math.max(1.25, p.length * unit)}></path><path d=${d}
          class="hsd-arc-hit"></path></g>`;
    };
    const runs: [source: string, from: number, to: number][] = [];
    text.sources.forEach((source, k) => {
      const last = runs.at(-1);
      if (last?.[0] === source) last[2] = k + 1;
      else runs.push([source, k, k + 1]);
    });
    const strip = ([source, from, to]: (typeof runs)[number]) =>
      svg`<rect class="hsd-arc-text"
        data-family=${source === "prompt" ? nothing : palette.family(source)} x=${f.x(from)}
        y=${base} width=${Math.max(0.5, (to - from) * wide - (wide > 4 ? 1 : 0))}
            height=${STRIP}></rect>`;
    const mark = (from: number, length: number) =>
      svg`<rect class="hsd-arc-mark" x=${f.x(from)} y=${base - 1}
        width=${Math.max(2, length * wide)} height=${STRIP + 2}></rect>`;
    const order = text.passages.toSorted((a, b) => Number(a === marked) - Number(b === marked));
    const edge = f.x(text.prompt);
    return svg`<svg width=${f.width} height=${f.height} viewBox="0 0 ${f.width} ${f.height}"
      aria-hidden="true">
      ${order.map(arc)}${runs.map(strip)}
      ${marked ? [mark(marked.from, marked.length), mark(marked.at, marked.length)] : nothing}
      ${
        text.prompt
          ? svg`<line class="hsd-arc-edge" x1=${edge} x2=${edge} y1=${base - 16}
        y2=${foot + 4}></line>`
          : nothing
      }
      ${axisX(f, f.width / 90, String)}</svg>`;
  }
  /** The text around a passage, with the passage marked. */
  function snippet(from: number, length: number) {
    const piece = (a: number, b: number) =>
      white(text.pieces.slice(Math.max(0, a), Math.max(0, b)).join(""));
    const to = from + length;
    const before = piece(from - AROUND, from);
    const after = piece(to, to + 4);
    return html`<code>${before}<mark>${piece(from, to)}</mark>${after}</code>`;
  }
  const pair = ({ from, at, length }: Passage) =>
    html`<span>earlier</span>${snippet(from, length)}<span>here</span>${snippet(at, length)}`;
  function paint() {
    root.hidden = !store.tokens.length;
    if (root.hidden) return;
    const copied = text.passages;
    const tokens = copied.reduce((sum, p) => sum + p.length, 0);
    const counts = `${plural(copied.length, "passage")} copied, ${plural(tokens, "token")}`;
    const keys = "Arrow keys move between passages, Enter pins; the table lists them.";
    const label = `Copy arcs: ${counts}. ${keys}`;
    setAttributes(plot, { "aria-label": label });
    render(drawing(), plot);
    const passage = shownPassage();
    const rows = copied
      .slice(0, MAX_ROWS)
      .map((p) => [
        html`<button @click=${() => choose(p, true)}>${p.at}</button>`,
        ...[p.from, p.length, palette.words(p.source)],
        html`<code>${white(text.pieces.slice(p.at, p.at + p.length).join(""))}</code>`,
      ]);
    const first = copied.length > rows.length ? `, the first ${MAX_ROWS}` : "";
    const title = `Passages as a table${first}`;
    render(
      html`<h3>Copied passages</h3>
        <p class="hsd-note">
          An arc leads from a passage back to where it was copied from. The prompt is left of the
          dotted line.
        </p>
        ${plot}
        <p class="hsd-arc-words" role="status">
          ${passage ? words(passage) : "No passage was copied."}
        </p>
        <div class="hsd-arc-pair">
          ${passage ? pair(passage) : nothing}
        </div>
        ${folded(title, tableOf("Passages", ["token", "from", "tokens", "source", "text"], rows))}`,
      root,
    );
  }
  const redraw = () => {
    text = textOf(store);
    chosen = null;
    paint();
  };
  // Redraw rarely while the text grows, since every token moves all others.
  const later = soon(redraw, 1000);
  follow((what) => (what === "reset" || store.meta.wall_ns !== null ? redraw() : later()));
  redraw();
  resized(plot, paint);
  return () => group.light(null);
}
export default linkedWidget(arcsView);
