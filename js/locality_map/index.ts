// Copy arcs: the text from left to right, an arc from each copied passage to the place that it was copied from.
import { html, nothing, render, svg } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { axisX, frameOf, onResize } from "../lib/chart";
import { focusable, make } from "../lib/dom";
import { linkedWidget, type View } from "../lib/linked";
import { folded, tableOf } from "../lib/table";
import { plural, visible } from "../lib/words";
import { type Passage, shownOf, type Text, textOf } from "./passages";

interface Traits {
  least: number;
}
const SIZE = { left: 14, right: 14, top: 6, bottom: 20 };
/** Heights of the arcs above, of the text's strip, and of the arcs below. */
const [OVER, STRIP, BELOW] = [150, 14, 60];
/** Tokens shown around a passage, and rows of the table. */
const [AROUND, MOST_ROWS] = [8, 60];
const white = (text: string) => visible(text).replace(/\n/g, "⏎").replace(/\t/g, "⇥");

function arcsView({ model, root, group, store, palette, follow }: View<Traits>) {
  root.classList.add("hsd-arcs");
  const plot = focusable(make("div", "hsd-arc-plot"));
  plot.setAttribute("role", "group");
  let text: Text = textOf(store);
  let shown: Passage[] = [];
  let chosen: Passage | null = null;
  const least = () => model.get("least");
  const words = (p: Passage) => {
    const place = `Tokens ${p.at}–${p.at + p.length - 1}`;
    return p.source
      ? `${place}: ${plural(p.length, "token")} copied from position ${p.from} by ${palette.phrase(p.source)}, ${plural(p.at - p.from, "token")} back.`
      : `${place} repeat ${plural(p.length, "token")} from position ${p.from}; no draft copied them.`;
  };
  function choose(p: Passage | null, pin = false) {
    if (p === chosen && !pin) return;
    chosen = p;
    const where = p && { token: p.at - text.prompt };
    if (pin && where) group.pin(where);
    else group.hover(where);
    group.light(p?.from ?? null, pin);
    paint();
  }
  plot.addEventListener("keydown", (e) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    if (by) {
      const at = chosen ? shown.indexOf(chosen) : by > 0 ? -1 : shown.length;
      choose(shown[Math.max(0, Math.min(shown.length - 1, at + by))] ?? null);
    } else if (e.key === "Enter") choose(chosen, true);
    else if (e.key === "Escape") {
      choose(null);
      group.release();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  });
  plot.addEventListener("pointerleave", () => {
    if (!group.cursor.pinned) choose(null);
  });

  function drawing() {
    const n = Math.max(1, text.ids.length);
    const base = OVER + SIZE.top;
    const foot = base + STRIP;
    const size = { ...SIZE, width: Math.max(280, plot.clientWidth || 640), height: foot + BELOW + SIZE.bottom };
    const f = frameOf(size, n, 1);
    const wide = f.x(1) - f.x(0);
    const longest = Math.max(1, ...shown.map((p) => p.at - p.from));
    /** An arc as wide as its passage; copied ones above the text, others below. */
    const arc = (p: Passage) => {
      const [a, b] = [f.x(p.from + p.length / 2), f.x(p.at + p.length / 2)].map((x) => x.toFixed(1));
      const [room, y, way] = p.source ? [OVER, base, -1] : [BELOW, foot, 1];
      const top = (y + (way * Math.max(8, room * Math.sqrt((p.at - p.from) / longest) * 0.97) * 4) / 3).toFixed(1);
      const d = `M${a} ${y}C${a} ${top} ${b} ${top} ${b} ${y}`;
      const at = (pin: boolean) => () => (pin || !group.cursor.pinned ? choose(p, pin) : undefined);
      return svg`<g class=${p === chosen ? "hsd-arc hsd-on" : "hsd-arc"} data-family=${p.source ? palette.family(p.source) : nothing}
        @pointerenter=${at(false)} @click=${at(true)}>
        <path d=${d} class="hsd-arc-line" stroke-width=${Math.max(1.25, Math.min(10, p.length * wide))}></path><path d=${d} class="hsd-arc-hit"></path></g>`;
    };
    const runs: [source: string, from: number, to: number][] = [];
    text.sources.forEach((source, k) => {
      const last = runs.at(-1);
      if (last?.[0] === source) last[2] = k + 1;
      else runs.push([source, k, k + 1]);
    });
    const strip = ([source, from, to]: (typeof runs)[number]) =>
      svg`<rect class="hsd-arc-text" data-family=${source === "prompt" ? nothing : palette.family(source)} x=${f.x(from)} y=${base} width=${Math.max(0.5, (to - from) * wide - (wide > 4 ? 1 : 0))} height=${STRIP}></rect>`;
    const mark = (from: number, length: number) =>
      svg`<rect class="hsd-arc-mark" x=${f.x(from)} y=${base - 1} width=${Math.max(2, length * wide)} height=${STRIP + 2}></rect>`;
    const order = chosen ? [...shown.filter((p) => p !== chosen), chosen] : shown;
    const edge = f.x(text.prompt);
    return svg`<svg width=${f.width} height=${f.height} viewBox="0 0 ${f.width} ${f.height}" aria-hidden="true">
      ${order.map(arc)}${runs.map(strip)}
      ${chosen ? [mark(chosen.from, chosen.length), mark(chosen.at, chosen.length)] : nothing}
      ${text.prompt ? svg`<line class="hsd-arc-edge" x1=${edge} x2=${edge} y1=${base - 16} y2=${foot + 14}></line>` : nothing}
      ${axisX(f, f.width / 90, String)}</svg>`;
  }
  /** The text around a passage, which is marked. */
  function snippet(from: number, length: number) {
    const piece = (a: number, b: number) => white(text.pieces.slice(Math.max(0, a), Math.max(0, b)).join(""));
    return html`<code>${piece(from - AROUND, from)}<mark>${piece(from, from + length)}</mark>${piece(from + length, from + length + 4)}</code>`;
  }
  function paint() {
    root.hidden = !store.tokens.length;
    if (root.hidden) return;
    const copied = shown.filter((p) => p.source);
    const tokens = copied.reduce((sum, p) => sum + p.length, 0);
    const written = text.ids.length - text.prompt;
    const repeats = text.again.slice(text.prompt).filter(([, length]) => length >= least()).length;
    const share = (k: number) => `${written ? Math.round((100 * k) / written) : 0} %`;
    plot.setAttribute(
      "aria-label",
      `Copy arcs: ${plural(copied.length, "passage")} copied, ${plural(tokens, "token")}. Arrow keys move between passages, Enter pins; the table lists them.`,
    );
    render(drawing(), plot);
    const said = chosen
      ? words(chosen)
      : `${tokens} of ${written} tokens (${share(tokens)}) were copied in ${plural(copied.length, "passage")}; ${repeats} (${share(repeats)}) end a repeat of ${least()} or more tokens.`;
    const slide = (e: { target: HTMLInputElement }) => {
      model.set("least", Number(e.target.value));
      model.save_changes();
    };
    const rows = copied
      .slice(0, MOST_ROWS)
      .map((p) => [
        html`<button @click=${() => choose(p, true)}>${p.at}</button>`,
        ...[p.from, p.length, palette.words(p.source)],
        html`<code>${white(text.pieces.slice(p.at, p.at + p.length).join(""))}</code>`,
      ]);
    const more = copied.length - rows.length;
    render(
      html`<h3>Copied passages</h3>
        <p class="hsd-arc-note">The text from left to right, the prompt first; each token has the colour of its source. An arc above leads from a passage to the place it was copied from; its width is the passage’s length. Arcs below: repeats that no draft copied. Databases of other texts (model, statistics) have no arcs.</p>
        ${plot}
        <p class="hsd-arc-words" role="status">${said}</p>
        <div class="hsd-arc-pair">${chosen ? html`<span>earlier</span>${snippet(chosen.from, chosen.length)}<span>here</span>${snippet(chosen.at, chosen.length)}` : nothing}</div>
        <label class="hsd-arc-least">Shortest repeat below, tokens <input type="range" min="1" max="8" .value=${live(String(least()))} @input=${slide}><output>${least()}</output></label>
        ${folded(
          `Passages as a table${more > 0 ? `, the first ${MOST_ROWS}` : ""}`,
          tableOf("Passages", ["token", "from", "tokens", "source", "text"], rows),
        )}`,
      root,
    );
  }
  let waiting = 0;
  const redraw = () => {
    waiting = 0;
    text = textOf(store);
    filter();
  };
  const filter = () => {
    shown = shownOf(text, least());
    chosen = null;
    paint();
  };
  model.on("change:least", filter);
  follow((what) => {
    clearTimeout(waiting);
    // Not while the text grows: every token moves all others.
    if (what === "reset" || store.meta.wall_ns !== null) redraw();
    else waiting = setTimeout(redraw, 1000);
  });
  redraw();
  const unwatch = onResize(plot, paint);
  return () => {
    clearTimeout(waiting);
    unwatch();
    model.off("change:least", filter);
    group.light(null);
  };
}
export default linkedWidget(arcsView);
