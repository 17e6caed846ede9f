// Copy arcs: the text from left to right, an arc from each copied passage to the place that it was copied from.
import { html, nothing, render, svg } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { make } from "../lib/dom";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import { plural, visible } from "../lib/words";
import { ticks } from "../staircase/stairs";
import { type Passage, shownOf, type Text, textOf } from "./passages";

interface Traits {
  least: number;
}
const SIZE = { side: 14, strip: 14, over: 150, below: 60, foot: 20 };
/** Tokens shown around a passage, and rows of the table. */
const [AROUND, MOST_ROWS] = [8, 60];
const white = (text: string) => visible(text).replace(/\n/g, "⏎").replace(/\t/g, "⇥");

function arcsView({ model, root, group, store, palette, follow }: View<Traits>) {
  root.classList.add("hsd-arcs");
  const plot = make("div", "hsd-arc-plot");
  plot.tabIndex = 0;
  plot.setAttribute("role", "group");
  let text: Text = textOf(store);
  let shown: Passage[] = [];
  let chosen: Passage | null = null;
  const least = () => model.get("least");
  const words = (p: Passage) =>
    p.source
      ? `Tokens ${p.at}–${p.at + p.length - 1}: ${plural(p.length, "token")} copied from position ${p.from} by ${palette.phrase(p.source)}, ${plural(p.at - p.from, "token")} back.`
      : `Tokens ${p.at}–${p.at + p.length - 1} repeat ${plural(p.length, "token")} from position ${p.from}; no draft copied them.`;

  function choose(p: Passage | null, pin = false) {
    if (p === chosen && !pin) return;
    chosen = p;
    const token = p ? p.at - text.prompt : -1;
    if (pin && p) group.pin({ token });
    else group.hover(p ? { token } : null);
    group.light(p ? p.from : null, pin);
    paint();
  }
  function step(by: number) {
    const at = chosen ? shown.indexOf(chosen) : by > 0 ? -1 : shown.length;
    const next = shown[Math.max(0, Math.min(shown.length - 1, at + by))];
    if (next) choose(next);
  }
  plot.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey) return;
    const keys: Record<string, () => void> = {
      ArrowRight: () => step(1),
      ArrowDown: () => step(1),
      ArrowLeft: () => step(-1),
      ArrowUp: () => step(-1),
      Enter: () => choose(chosen, true),
      Escape: () => {
        choose(null);
        group.release();
      },
    };
    if (!Object.hasOwn(keys, e.key)) return;
    keys[e.key]();
    e.preventDefault();
    e.stopPropagation();
  });
  plot.addEventListener("pointerleave", () => {
    if (!group.cursor.pinned) choose(null);
  });

  function drawing() {
    const width = Math.max(280, plot.clientWidth || 640);
    const n = Math.max(1, text.ids.length);
    const wide = (width - 2 * SIZE.side) / n;
    const x = (at: number) => SIZE.side + at * wide;
    const base = SIZE.over + 6;
    const foot = base + SIZE.strip;
    const height = foot + SIZE.below + SIZE.foot;
    const longest = Math.max(1, ...shown.map((p) => p.at - p.from));
    /** An arc as wide as its passage; copied ones above the text, others below. */
    const arc = (p: Passage) => {
      const [a, b] = [x(p.from + p.length / 2), x(p.at + p.length / 2)];
      const [room, y, way] = p.source ? [SIZE.over, base, -1] : [SIZE.below, foot, 1];
      const high = Math.max(8, room * Math.sqrt((p.at - p.from) / longest) * 0.97);
      const d = `M${a.toFixed(1)} ${y}C${a.toFixed(1)} ${(y + (way * high * 4) / 3).toFixed(1)} ${b.toFixed(1)} ${(y + (way * high * 4) / 3).toFixed(1)} ${b.toFixed(1)} ${y}`;
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
    const here = (from: number, length: number, cls: string) =>
      svg`<rect class=${cls} x=${x(from)} y=${base - 1} width=${Math.max(2, length * wide)} height=${SIZE.strip + 2}></rect>`;
    const order = chosen ? [...shown.filter((p) => p !== chosen), chosen] : shown;
    return svg`<svg width=${width} height=${height} viewBox="0 0 ${width} ${height}" aria-hidden="true">
      ${order.map(arc)}
      ${runs.map(
        ([source, from, to]) =>
          svg`<rect class="hsd-arc-text" data-family=${source === "prompt" ? nothing : palette.family(source)} x=${x(from)} y=${base} width=${Math.max(0.5, (to - from) * wide - (wide > 4 ? 1 : 0))} height=${SIZE.strip}></rect>`,
      )}
      ${chosen ? [here(chosen.from, chosen.length, "hsd-arc-mark"), here(chosen.at, chosen.length, "hsd-arc-mark")] : nothing}
      ${text.prompt ? svg`<line class="hsd-arc-edge" x1=${x(text.prompt)} x2=${x(text.prompt)} y1=${base - 16} y2=${foot + 14}></line>` : nothing}
      ${ticks(n, width / 90).map(
        (at) =>
          svg`<text x=${Math.min(x(at), width - 4)} y=${height - 4} text-anchor=${at === 0 ? "start" : at > n * 0.96 ? "end" : "middle"}>${at}</text>`,
      )}
    </svg>`;
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
    render(
      html`<h3>Copied passages</h3>
        <p class="hsd-arc-note">The text from left to right, the prompt first; each token has the colour of its source. An arc above leads from a passage to the place it was copied from; its width is the passage’s length. Arcs below: repeats that no draft copied. Databases of other texts (model, statistics) have no arcs.</p>
        ${plot}
        <p class="hsd-arc-words" role="status">${chosen ? words(chosen) : `${tokens} of ${written} tokens (${share(tokens)}) were copied in ${plural(copied.length, "passage")}; ${repeats} (${share(repeats)}) end a repeat of ${least()} or more tokens.`}</p>
        <div class="hsd-arc-pair">${chosen ? html`<span>earlier</span>${snippet(chosen.from, chosen.length)}<span>here</span>${snippet(chosen.at, chosen.length)}` : nothing}</div>
        <label class="hsd-arc-least">Shortest repeat below, tokens <input type="range" min="1" max="8" .value=${live(String(least()))} @input=${(e: {
          target: HTMLInputElement;
        }) => {
          model.set("least", Number(e.target.value));
          model.save_changes();
        }}><output>${least()}</output></label>
        <details><summary>Passages as a table</summary><div class="hsd-arc-scroll" tabindex="0" role="region" aria-label="Passages"><table>
          <thead><tr>${["token", "from", "tokens", "source", "text"].map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
          <tbody>${copied.slice(0, MOST_ROWS).map(
            (
              p,
            ) => html`<tr><th scope="row"><button @click=${() => choose(p, true)}>${p.at}</button></th><td>${p.from}</td><td>${p.length}</td><td>${palette.words(p.source)}</td>
              <td><code>${white(text.pieces.slice(p.at, p.at + p.length).join(""))}</code></td></tr>`,
          )}</tbody></table></div>${copied.length > MOST_ROWS ? html`<p class="hsd-arc-note">and ${copied.length - MOST_ROWS} more</p>` : nothing}</details>`,
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
  let wide = 0;
  const resized = new ResizeObserver(() => {
    if (plot.clientWidth !== wide) paint();
    wide = plot.clientWidth;
  });
  resized.observe(plot);
  return () => {
    clearTimeout(waiting);
    resized.disconnect();
    model.off("change:least", filter);
    group.light(null);
  };
}
export default linkedWidget(arcsView);
