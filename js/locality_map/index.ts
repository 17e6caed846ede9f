// The temporal-locality map: earlier occurrences of each token, in SVG.

import { draw, entry, hued, make } from "../lib/dom";
import { axisNames, figureIn, tickBelow, tickBeside } from "../lib/figure";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { PaletteData } from "../lib/palette";
import type { Store } from "../lib/run";
import { plural, visible } from "../lib/words";
import { inOrder } from "../panels/panels";

interface Spec {
  title?: string;
  text?: string;
  source?: string;
  /** Token ids and their texts, and the number of prompt tokens. */
  ids: number[];
  pieces: string[];
  prompt: number;
  /** The latest earlier place with the longest equal run of tokens, and its length; -1: none. */
  again: [number, number][];
  /** The text position that a draft was copied from; -1: none. */
  copied: number[];
  sources: string[];
  hues: Record<string, { label: string; light: string; dark: string; own?: boolean }>;
}
interface Traits {
  least: number;
}
/** Maximum repeat length. */
const LONGEST = 32;

/** The earlier position and length of each token's longest repeat, the latest position on ties; [-1, 0] for new tokens. */
export function longestRepeats(ids: readonly number[]): [number, number][] {
  // [j + 1]: length of the run that ends at j and at the token before.
  let before = new Uint8Array(ids.length + 1);
  let now = new Uint8Array(ids.length + 1);
  return ids.map((id, i) => {
    let [at, most] = [-1, 0];
    for (let j = 0; j < i; j++) {
      const length = ids[j] === id ? Math.min(before[j] + 1, LONGEST) : 0;
      now[j + 1] = length;
      if (length && length >= most) [at, most] = [j, length];
    }
    [before, now] = [now, before];
    return [at, most];
  });
}

/** The map of a run. */
export function specOf(
  store: Store,
  palette: PaletteData,
  words: (source: string) => string,
  family: (s: string) => string,
): Spec {
  const ids = [...store.promptIds, ...store.tokens.map((t) => t.token_id)];
  const sources = store.tokens.map((t) => t.source);
  const hues: Spec["hues"] = {};
  for (const source of inOrder(sources, palette.databases)) {
    const { light, dark } = palette.hues[family(source)];
    hues[source] = { label: words(source), light, dark };
  }
  if (palette.hues.target) hues.target = { ...palette.hues.target, label: "target's own tokens", own: true };
  const prompt = store.promptIds;
  return {
    title: "Temporal locality of the text",
    prompt: prompt.length,
    ids,
    pieces: [...prompt.map((id) => store.pieces[id] ?? `#${id}`), ...store.tokens.map((t) => t.text)],
    sources: [...prompt.map(() => "prompt"), ...sources],
    again: longestRepeats(ids),
    copied: [...prompt.map(() => -1), ...store.tokens.map((t) => store.ownDraft(t)?.position ?? -1)],
    hues,
    text: "Left to right: the text in order. A mark above a token is at the earlier position that it repeats. Slanted lines are repeated passages; closer to the diagonal is more recent. Coloured marks were drafted from there and accepted. The bottom row has the source of each token.",
    source: `${store.meta.stack}; ${plural(prompt.length, "token")} of prompt, ${sources.length} emitted.`,
  };
}
const STEPS: Record<string, number> = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

const STRIP = 14; // height of the row of sources
const AROUND = 10; // tokens shown before and after a match
const white = (text: string) => visible(text).replace(/\n/g, "⏎").replace(/\t/g, "⇥");

function localityView({ model, root: el, store, palette, follow }: View<Traits>) {
  const figure = figureIn(el, "hsd-d-body");
  const { root, title, frame, readout, aside, source } = figure;
  const pair = make("div", "hsd-d-pair");
  figure.left.append(pair);

  let chosen = -1;
  let toX = (v: number) => v;
  let toY = (v: number) => v;
  let box = { left: 0, right: 0, top: 0, bottom: 0 };
  const cross = draw("g");
  let found: Spec | null = null;
  const spec = (): Spec => (found ??= specOf(store, model.get("palette"), palette.words, palette.family));
  const least = () => model.get("least");

  function paint() {
    const s = spec();
    if (!s.pieces.length) return;
    const n = s.pieces.length;
    const width = figure.width();
    box = { left: 52, right: width - 10, top: 8, bottom: 0 };
    const inner = box.right - box.left;
    box.bottom = box.top + Math.round(inner * (width > 520 ? 0.72 : 0.95));
    const foot = box.bottom + 6 + STRIP;
    const svg = draw("svg", { viewBox: `0 0 ${width} ${foot + 46}`, height: foot + 46, "aria-hidden": "true" });
    toX = (v: number) => box.left + (inner * v) / n;
    toY = (v: number) => box.bottom - ((box.bottom - box.top) * v) / n;
    const w = inner / n;
    const h = (box.bottom - box.top) / n;
    const size = Math.max(3, Math.min(w, h) * 1.15);
    svg.append(
      draw("rect", {
        x: box.left,
        y: toY(s.prompt),
        width: inner,
        height: box.bottom - toY(s.prompt),
        class: "hsd-d-prompt",
      }),
    );
    svg.append(draw("line", { x1: toX(0), y1: toY(0), x2: toX(n), y2: toY(n), class: "hsd-d-diagonal" }));
    svg.append(draw("line", { x1: toX(s.prompt), y1: box.top, x2: toX(s.prompt), y2: foot, class: "hsd-d-edge" }));
    svg.append(
      draw("rect", {
        x: box.left,
        y: box.top,
        width: inner,
        height: box.bottom - box.top,
        class: "hsd-grid",
        fill: "none",
      }),
    );
    const end = toX(s.prompt) - box.left;
    if (end > 56)
      svg.append(
        draw("text", { x: toX(s.prompt) - 6, y: box.top + 16, "text-anchor": "end", class: "hsd-tick" }, "prompt"),
      );
    if (box.right - toX(s.prompt) > 150)
      svg.append(draw("text", { x: toX(s.prompt) + 6, y: box.top + 16, class: "hsd-tick" }, "generated →"));
    svg.append(
      draw(
        "text",
        { x: box.right - 6, y: box.bottom - 8, "text-anchor": "end", class: "hsd-tick" },
        "copied from the prompt",
      ),
    );
    const step = [10, 20, 50, 100, 200, 500, 1000].find((k) => n / k <= (width > 520 ? 9 : 5)) || 2000;
    for (let at = 0; at < n; at += step) {
      svg.append(tickBelow(toX(at), foot, String(at)), tickBeside(box, toY(at), String(at)));
    }
    axisNames(svg, box, foot, "token position", "repeated position");
    const dots = draw("g");
    for (let i = 0; i < n; i++) {
      const [from, length] = s.again[i];
      const copied = s.copied[i];
      if (from >= 0 && copied < 0 && length >= least()) dots.append(dot(i, from, size * 0.8, "hsd-d-again"));
    }
    for (let i = 0; i < n; i++)
      if (s.copied[i] >= 0) dots.append(hued(dot(i, s.copied[i], size, "hsd-d-from"), s.hues[s.sources[i]]));
    svg.append(dots);
    for (let i = s.prompt; i < n; i++) {
      const key = s.sources[i];
      const cell = draw("rect", {
        x: toX(i),
        y: box.bottom + 6,
        width: Math.max(1, w - (w > 4 ? 1 : 0)),
        height: STRIP,
        class: key === "target" ? "hsd-d-target" : "hsd-d-from",
      });
      svg.append(hued(cell, s.hues[key]));
    }
    svg.append(cross);
    frame.replaceChildren(svg);
    show();
  }
  function dot(i: number, j: number, size: number, cls: string) {
    return draw("rect", {
      x: toX(i + 0.5) - size / 2,
      y: toY(j + 0.5) - size / 2,
      width: size,
      height: size,
      class: cls,
    });
  }
  /** The text around a match, with the match marked. */
  function snippet(at: number, length: number) {
    const s = spec();
    const code = make("code");
    const text = (a: number, b: number) => white(s.pieces.slice(Math.max(0, a), Math.max(0, b)).join(""));
    const mark = hued(make("mark", "", text(at - length + 1, at + 1)), s.hues[s.sources[chosen]] || s.hues.target);
    code.append(text(at - length - AROUND + 1, at - length + 1), mark, text(at + 1, at + 4));
    return code;
  }
  function show() {
    const s = spec();
    cross.replaceChildren();
    pair.replaceChildren();
    readout.classList.toggle("hsd-note", chosen < 0);
    if (chosen < 0) {
      readout.textContent = "Hover over the map or use the arrow keys to compare repeats.";
      return;
    }
    const copied = s.copied[chosen];
    const [again, run] = s.again[chosen];
    const from = copied >= 0 ? copied : run >= least() ? again : -1;
    const who =
      chosen < s.prompt
        ? "of the prompt"
        : s.sources[chosen] === "target"
          ? "from the target"
          : `drafted by the ${s.hues[s.sources[chosen]].label}`;
    const words = [`Token ${chosen}, “${white(s.pieces[chosen])}”, ${who}`];
    let length = 1;
    if (from >= 0) {
      while (length < 24 && from - length >= 0 && s.ids[from - length] === s.ids[chosen - length]) length++;
      words.push(
        copied >= 0 ? `copied from position ${from}` : `repeats position ${from}`,
        `${length} equal token${length > 1 ? "s" : ""}`,
      );
    } else words.push(`no repeat of ${least()} or more tokens`);
    readout.textContent = `${words.join("; ")}.`;
    const x = toX(chosen + 0.5);
    cross.append(draw("line", { x1: x, x2: x, y1: box.top, y2: box.bottom + 6 + STRIP, class: "hsd-d-cross" }));
    if (from < 0) {
      length = 1;
      pair.append(make("span", "", "here"), snippet(chosen, 1));
      return;
    }
    const y = toY(from + 0.5);
    cross.append(
      draw("line", { x1: box.left, x2: x, y1: y, y2: y, class: "hsd-d-cross" }),
      draw("circle", { cx: x, cy: y, r: 7, class: "hsd-d-spot" }),
    );
    pair.append(make("span", "", "earlier"), snippet(from, length), make("span", "", "here"), snippet(chosen, length));
  }
  function locate(e: PointerEvent) {
    const at = figure.at(e);
    if (!at) return -1;
    const [px, py] = at;
    if (px < box.left || px >= box.right || py < box.top || py > box.bottom + 6 + STRIP) return -1;
    const s = spec();
    const exact = Math.floor((s.pieces.length * (px - box.left)) / (box.right - box.left));
    // Prefer a nearby mark over an empty column.
    let best = exact;
    let room = 10;
    for (let i = Math.max(0, exact - 8); i < Math.min(s.pieces.length, exact + 9); i++) {
      const from = s.copied[i] >= 0 ? s.copied[i] : s.again[i][1] >= least() ? s.again[i][0] : -1;
      const far = from < 0 ? 99 : Math.hypot(toX(i + 0.5) - px, toY(from + 0.5) - py);
      if (far < room) {
        room = far;
        best = i;
      }
    }
    return best;
  }
  function point(e: PointerEvent | null) {
    chosen = e ? locate(e) : -1;
    show();
  }
  function key(e: KeyboardEvent) {
    if (!spec().pieces.length) return false;
    const last = spec().pieces.length - 1;
    const step = STEPS[e.key];
    if (step) chosen = Math.max(0, Math.min(last, chosen < 0 ? spec().prompt : chosen + step));
    else if (e.key === "Home") chosen = 0;
    else if (e.key === "End") chosen = last;
    else if (e.key === "Escape") chosen = -1;
    else return false;
    show();
    return true;
  }

  const counted = make("p", "hsd-note");
  counted.setAttribute("aria-live", "polite");
  function count() {
    const s = spec();
    if (!s.pieces.length) return;
    const written = s.pieces.length - s.prompt;
    let again = 0;
    for (let i = s.prompt; i < s.pieces.length; i++) again += Number(s.again[i][1] >= least());
    const share = written ? Math.round((100 * again) / written) : 0;
    counted.textContent = `${again} of ${written} generated tokens (${share} %) end a repeat of ${least()} or more tokens.`;
  }
  function paintText() {
    const s = spec();
    title.textContent = s.title || "";
    root.setAttribute("aria-label", s.title || "");
    frame.setAttribute("aria-label", `${s.title}. ${s.text || ""} Arrow keys move through the text.`);
    aside.replaceChildren();
    if (s.text) aside.append(make("p", "hsd-note", s.text));
    const field = make("label", "hsd-d-field");
    const slider = make("input");
    Object.assign(slider, { type: "range", min: "1", max: "8", step: "1", value: String(least()) });
    const shown = make("output", "", String(least()));
    slider.addEventListener("input", () => {
      shown.textContent = slider.value;
      model.set("least", Number(slider.value));
      model.save_changes();
    });
    field.append(make("span", "hsd-d-label", "Minimum repeat length, tokens"), slider, shown);
    const list = make("ul", "hsd-d-legend");
    list.style.flexDirection = "column";
    for (const [name, hue] of Object.entries(s.hues || {})) {
      const here = s.sources.filter((x, i) => i >= s.prompt && x === name).length;
      if (here)
        list.append(entry(hued(make("span", "hsd-d-key"), hue), `${hue.label}: ${here} token${here === 1 ? "" : "s"}`));
    }
    const grey = make("span", "hsd-d-key");
    grey.style.cssText =
      "background: color-mix(in srgb, var(--muted) 55%, var(--paper)); width: 8px; height: 8px; margin: 0 3px; border-radius: 0";
    list.append(entry(grey, "repeated, but not copied from there"));
    aside.append(field, counted, list);
    source.textContent = s.source || "";
    count();
  }
  let waiting = 0;
  const redraw = () => {
    waiting = 0;
    found = null;
    chosen = -1;
    root.hidden = !store.tokens.length;
    if (root.hidden) return;
    paintText();
    paint();
  };
  const filter = () => {
    count();
    paint();
  };
  figure.live({ paint, point, key });
  model.on("change:least", filter);
  follow((what) => {
    clearTimeout(waiting);
    // Not while the text grows: every token moves all others.
    if (what === "reset" || store.meta.wall_ns !== null) redraw();
    else waiting = setTimeout(redraw, 1000);
  });
  redraw();
  return () => {
    clearTimeout(waiting);
    model.off("change:least", filter);
    figure.remove();
  };
}

export default linkedWidget(localityView);
