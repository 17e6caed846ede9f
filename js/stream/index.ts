// The token stream: prompt, emitted tokens coloured by source and marked by verdict, rejected drafts as ghosts, a
// details card.
import { html, render } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { focusable, make } from "../lib/dom";
import type { Cursor } from "../lib/group";
import type { View } from "../lib/linked";
import { linkedWidget } from "../lib/linked";
import type { Palette } from "../lib/palette";
import type { Change, Store } from "../lib/run";
import { streamCard } from "./card";
import { tokenPane } from "./pane";

interface Traits {
  pinned: number;
  live: boolean;
  ghosts: boolean;
}

/** The legend: sources and shapes with counts. */
function legendOf(store: Store, palette: Palette) {
  const counts = new Map<string, number>();
  const kinds = new Map<string, number>();
  for (const { source, kind } of store.tokens) {
    counts.set(source, (counts.get(source) || 0) + 1);
    kinds.set(kind, (kinds.get(kind) || 0) + 1);
  }
  const shapes = ["accepted", "correction", "bonus", "plain"].filter((kind) => kind !== "plain" || kinds.has(kind));
  return html`<div class="hsd-legend" role="group" aria-label="Legend">
    <div class="hsd-keys">${[...counts]
      .sort((a, b) => b[1] - a[1])
      .map(
        ([source, n]) =>
          html`<span class="hsd-key"
            ><span class="hsd-swatch" data-family=${palette.family(source)}></span
            ><span>${palette.words(source)}</span><b>${n}</b></span>`,
      )}</div>
    <div class="hsd-keys hsd-shapes">${shapes.map(
      (kind) =>
        html`<span class="hsd-key"
          ><span class="hsd-tok hsd-sample" data-kind=${kind} aria-hidden="true">abc</span><span>${kind}</span
          ><b>${kinds.get(kind) || 0}</b></span>`,
    )}<span class="hsd-key hsd-key-ghost"
        ><span class="hsd-ghost hsd-sample" aria-hidden="true">abc</span><span>rejected draft</span></span
      ><span class="hsd-key hsd-key-ghost"
        ><span class="hsd-ghost hsd-sample" data-verdict="unreached" aria-hidden="true">abc</span
        ><span>not examined</span></span></div>
  </div>`;
}

function streamView({ model, root, group, store, palette, follow }: View<Traits>) {
  root.classList.add("hsd-stream");

  // --- the frame
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
  const card = focusable(make("aside", "hsd-card")); // focusable, because it scrolls
  card.setAttribute("aria-label", "Token details");
  const pane = tokenPane(prompt, out, store, palette);
  const { spans, place } = pane;
  const details = streamCard({ card, store, group, palette, pane, out });
  const bar = make("div", "hsd-bar");
  function drawBar() {
    root.classList.toggle("hsd-ghosts", model.get("ghosts"));
    const turn = (e: { target: HTMLInputElement }) => {
      model.set("ghosts", e.target.checked);
      model.save_changes();
    };
    render(
      html`${legendOf(store, palette)}
        <label class="hsd-switch"><input type="checkbox" .checked=${live(model.get("ghosts"))} @change=${turn}>Rejected drafts</label>`,
      bar,
    );
  }
  const body = make("div", "hsd-body");
  body.append(scroll, card);
  root.append(bar, body);

  // --- text
  let stuck = true; // follow the end of the text until the user scrolls away
  scroll.addEventListener(
    "scroll",
    () => {
      stuck = scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - 24;
    },
    { passive: true },
  );
  let pending = -1;
  function flush() {
    if (pending < 0) return;
    const from = pending;
    pending = -1;
    pane.draw(from);
    drawBar();
    if (from === 0) show(); // the text may now be visible
    if (stuck && model.get("live")) scroll.scrollTop = scroll.scrollHeight;
  }
  /** Initial scroll position: the top if the emitted text is visible there, else a few lines above it. */
  const start = () => {
    const prompt = out.getBoundingClientRect().top - text.getBoundingClientRect().top;
    return prompt < scroll.clientHeight / 2 ? 0 : prompt - 90;
  };
  function onStore(what: Change, from: number) {
    if (what === "reset") {
      pending = -1;
      stuck = true;
      marked = [];
      pane.clear();
      drawBar();
      root.classList.toggle("hsd-empty", !store.tokens.length && !store.prompt);
      scroll.scrollTop = model.get("live") ? scroll.scrollHeight : start();
      show();
      return;
    }
    if (pending < 0) {
      pending = from;
      // A hidden tab gets no animation frames; the timer still updates it.
      requestAnimationFrame(flush);
      setTimeout(flush, 250);
    }
  }

  // --- cursor
  const pinned = () => (group.cursor.pinned ? group.cursor.token : -1);
  let marked = [] as HTMLElement[];
  let drawn = "";
  function show() {
    for (const s of marked) {
      s.classList.remove("hsd-on", "hsd-pinned", "hsd-mate", "hsd-lit", "hsd-lit2");
      if (s.dataset.i) s.setAttribute("aria-selected", "false");
    }
    marked = [];
    const mark = (s: HTMLElement | null | undefined, cls: string) => {
      if (s) {
        s.classList.add(cls);
        marked.push(s);
      }
    };
    const { token: i, hover, step } = group.cursor;
    if (hover && hover.token !== i) mark(spans[hover.token], "hsd-on");
    if (group.cursor.lit) mark(place(group.cursor.lit.position), "hsd-lit2");
    pane.dim(group.cursor.shown ?? Infinity);
    mark(hover && hover.step !== step ? pane.ghostOf(hover.step) : null, "hsd-on");
    const ghost = model.get("ghosts") ? pane.ghostOf(step) : null;
    mark(ghost, group.cursor.pinned ? "hsd-pinned" : "hsd-on");
    if (i < 0 || !spans[i]) {
      out.removeAttribute("aria-activedescendant");
      const key = `hint:${store.run}:${store.tokens.length}`;
      if (drawn !== key) {
        drawn = key;
        details.hint();
      }
      return;
    }
    const t = store.tokens[i];
    spans[i].setAttribute("aria-selected", "true");
    out.setAttribute("aria-activedescendant", spans[i].id);
    mark(spans[i], pinned() === i && !ghost ? "hsd-pinned" : "hsd-on");
    for (let k = i - 1; k >= 0 && store.tokens[k].round === t.round; k--) mark(spans[k], "hsd-mate");
    for (let k = i + 1; k < store.tokens.length && store.tokens[k].round === t.round; k++) mark(spans[k], "hsd-mate");
    const row = store.ownDraft(t);
    if (row) mark(place(row.position), "hsd-lit");
    const key = `${store.run}:${step}:${i}:${pinned() === i}`;
    if (drawn !== key) {
      drawn = key;
      details.token(i, row, pinned() === i);
    }
  }
  /** Scroll a node into view within the pane. */
  function into(node: HTMLElement | null | undefined) {
    if (!node) return;
    const frame = scroll.getBoundingClientRect();
    const box = node.getBoundingClientRect();
    if (box.top < frame.top + 24) scroll.scrollTop -= frame.top + 24 - box.top;
    else if (box.bottom > frame.bottom - 24) scroll.scrollTop += box.bottom - frame.bottom + 24;
  }
  /** Scroll to the token under the cursor; the page itself scrolls only for moves in the text. */
  function reveal(span: HTMLElement | null | undefined) {
    if (!span || text.matches(":hover")) return;
    if (document.activeElement === out) span.scrollIntoView({ block: "nearest" });
    else into(span);
  }
  function onCursor(now: Cursor, before: Cursor) {
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

  const at = (i: number) => (i >= 0 ? { token: i } : null);
  /** A token, or the event of a rejected draft token. */
  const under = (e: Event) => {
    const step = pane.ghostAt(e);
    return step >= 0 ? { step } : at(pane.tokenAt(e));
  };
  text.addEventListener("pointerover", (e) => group.hover(under(e)));
  text.addEventListener("pointerleave", () => group.hover(null));
  text.addEventListener("click", (e) => {
    const where = under(e);
    if (!where) return;
    const step = "step" in where ? where.step : store.index().stepOf[where.token];
    group.pin(group.cursor.pinned && group.cursor.step === step ? null : where);
  });

  // --- life
  const onLive = () => {
    root.classList.toggle("hsd-live", model.get("live"));
    show();
  };
  follow(onStore, onCursor);
  model.on("change:pinned", onPinned);
  model.on("change:ghosts", drawBar);
  model.on("change:live", onLive);
  onPinned();
  onLive();
  onStore("reset", 0);
  // Steps sent while this page was disconnected are lost: request a snapshot.
  if (model.get("live")) model.send({ kind: "sync" });
  // The first drawing happens before layout: scroll again afterwards.
  const laidOut = new ResizeObserver(() => {
    if (!scroll.clientHeight) return;
    laidOut.disconnect();
    requestAnimationFrame(() => {
      if (!model.get("live")) scroll.scrollTop = start();
    });
  });
  laidOut.observe(scroll);
  return () => {
    laidOut.disconnect();
    model.off("change:pinned", onPinned);
    model.off("change:live", onLive);
    model.off("change:ghosts", drawBar);
  };
}

export default linkedWidget(streamView);
