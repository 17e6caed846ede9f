// The token stream: prompt, emitted tokens coloured by source and marked by verdict, rejected
// drafts as ghosts, and a card of details.
import { html, nothing, render } from "lit-html";
import { createCard } from "../lib/card";
import { sample } from "../lib/chart";
import { make } from "../lib/dom";
import { check } from "../lib/fields";
import type { Cursor } from "../lib/group";
import { exampleOf } from "../lib/lesson";
import { linkedWidget, type View } from "../lib/linked";
import { bySource, countsBy } from "../lib/metrics";
import type { Palette } from "../lib/palette";
import type { Change, Store } from "../lib/run";
import { tokenPane } from "./pane";

/** Pixels of a usual line, and around the text. */
const LINE = 26;
const PADDING = 16;
/** Tokens of a short run. */
const SHORT = 80;

interface Traits {
  pinned: number;
  live: boolean;
  ghosts: boolean;
}

/** The legend: sources and shapes with counts. */
function legendOf({ tokens }: Store, palette: Palette) {
  const sources = Object.entries(bySource(tokens)).sort((a, b) => b[1] - a[1]);
  const kinds = countsBy(tokens, (t) => t.kind);
  const shapes = ["accepted", "correction", "bonus", ...(kinds.plain ? ["plain"] : [])];
  const ghost = (words: string, verdict: string) =>
    html`<span class="hsd-key hsd-key-ghost"
      ><span class="hsd-ghost hsd-sample" data-verdict=${verdict} aria-hidden="true">abc</span
      ><span>${words}</span></span
    >`;
  return html`<div class="hsd-legend" role="group" aria-label="Legend">
    <div class="hsd-keys">
      ${sources.map(
        ([source, n]) =>
          html`<span class="hsd-key"
            >${sample(palette.family(source))}<span>${palette.words(source)}</span><b>${n}</b></span
          >`,
      )}
    </div>
    <div class="hsd-keys">
      ${shapes.map(
        (kind) =>
          html`<span class="hsd-key"
            ><span class="hsd-tok hsd-sample" data-kind=${kind} aria-hidden="true">abc</span
            ><span>${kind}</span><b>${kinds[kind] ?? 0}</b></span
          >`,
      )}${ghost("rejected draft", "rejected")}${ghost("not examined", "unreached")}
    </div>
  </div>`;
}

function streamView({ model, root, group, store, palette, follow, on }: View<Traits>) {
  root.classList.add("hsd-stream");

  // --- the frame
  const scroll = make("div", "hsd-scroll", "", { tabindex: -1 });
  const text = make("div", "hsd-text");
  const prompt = make("span", "hsd-prompt", "", {
    role: "note",
    "aria-label": "Tokens of the prompt",
  });
  const label = "Emitted tokens. Arrow keys move, Enter pins, Escape unpins.";
  const out = make("span", "hsd-out", "", { tabindex: 0, role: "listbox", "aria-label": label });
  text.append(prompt, out);
  scroll.append(text);
  // Focusable, because it scrolls.
  const card = make("div", "hsd-card", "", {
    tabindex: 0,
    role: "group",
    "aria-label": "Token details",
  });
  const pane = tokenPane(prompt, out, store, palette);
  const { spans, place } = pane;
  const details = createCard(
    store,
    palette,
    (position) => group.light(position, true),
    () => group.branch,
  );
  const bar = make("div", "hsd-bar");
  function drawBar() {
    root.classList.toggle("hsd-ghosts", model.get("ghosts"));
    const turn = (on: boolean) => {
      model.set("ghosts", on);
      model.save_changes();
    };
    const shown = check("hsd-switch", "Rejected drafts", model.get("ghosts"), turn);
    render(html`${legendOf(store, palette)}${shown}`, bar);
  }
  const body = make("div", "hsd-body");
  body.append(scroll, card);
  root.append(bar, body);

  // --- text
  let stuck = true; // follow the end of the text until the user scrolls away
  const scrolled = () => {
    stuck = scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - 24;
  };
  scroll.addEventListener("scroll", scrolled, { passive: true });
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
  /**
   * Initial scroll position: the top if the emitted text is visible there, else two lines above it.
   */
  const start = () => {
    const before = out.getBoundingClientRect().top - text.getBoundingClientRect().top;
    const line = Number.parseFloat(getComputedStyle(text).lineHeight) || LINE;
    return before < scroll.clientHeight / 2 ? 0 : before - 2 * line + PADDING / 2;
  };
  /**
   * A short run that was not decoded before the reader's eyes has larger letters; they do not
   * change while it is read.
   */
  let decoded = "";
  function size() {
    if (model.get("live")) decoded = store.run;
    const short = store.tokens.length > 0 && store.tokens.length <= SHORT && store.run !== decoded;
    root.classList.toggle("hsd-short", short);
  }
  function onStore(what: Change, from: number) {
    if (what === "reset") {
      size();
      pending = -1;
      stuck = true;
      marked = [];
      pane.clear();
      drawBar();
      scroll.scrollTop = model.get("live") ? scroll.scrollHeight : start();
      show();
    } else if (pending < 0) {
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
      if (!s) return;
      s.classList.add(cls);
      marked.push(s);
    };
    const { token: i, hover, step } = group.cursor;
    if (hover && hover.token !== i) mark(spans[hover.token], "hsd-on");
    for (const position of group.cursor.lit?.positions ?? []) mark(place(position), "hsd-lit2");
    pane.dim(group.cursor.shown ?? Infinity);
    mark(hover && hover.step !== step ? pane.ghostOf(hover.step) : null, "hsd-on");
    const ghost = model.get("ghosts") ? pane.ghostOf(step) : null;
    mark(ghost, group.cursor.pinned ? "hsd-pinned" : "hsd-on");
    const t = spans[i] && store.tokens[i];
    const row = t ? store.ownDraft(t) : null;
    if (t) {
      spans[i].setAttribute("aria-selected", "true");
      out.setAttribute("aria-activedescendant", spans[i].id);
      mark(spans[i], pinned() === i && !ghost ? "hsd-pinned" : "hsd-on");
      for (let k = i - 1; k >= 0 && store.tokens[k].round === t.round; k--)
        mark(spans[k], "hsd-mate");
      for (let k = i + 1; store.tokens[k]?.round === t.round; k++) mark(spans[k], "hsd-mate");
      mark(place(row?.position), "hsd-lit");
    } else out.removeAttribute("aria-activedescendant");
    const key = `${store.run}:${store.tokens.length}:${step}:${t ? i : -1}:${pinned() === i}`;
    if (drawn === key) return;
    drawn = key;
    // Announce pinned tokens only, not hovered ones.
    card.setAttribute("aria-live", pinned() === i ? "polite" : "off");
    // A pinned card grows with its content; one under the pointer keeps the height, so that nothing
    // below it moves.
    const isPinned = Boolean(t) && pinned() === i;
    root.classList.toggle("hsd-idle", !t);
    root.classList.toggle("hsd-grown", isPinned);
    if (!t) {
      const example = model.get("live") ? null : exampleOf(store);
      const words = store.tokens.length
        ? "Select a token."
        : "Tokens appear here as they are decoded.";
      const from = example
        ? html` <span class="hsd-example"
            >An example, from round ${store.order.get(example.round.id)}:</span
          >`
        : nothing;
      const { text = "", source = "" } = example?.draft ?? {};
      const shown = example
        ? details({ text, source, judged: [example], own: null, token: null })
        : nothing;
      render(
        html`<h3>Token details</h3>
          <p class="hsd-note">${words}${from}</p>
          ${shown}`,
        card,
      );
      return;
    }
    const unpin = () => {
      group.pin(null);
      out.focus({ preventScroll: true });
    };
    const close = html`<button class="hsd-close" ?hidden=${pinned() !== i} @click=${unpin}>
      Unpin
    </button>`;
    const refused = store.index().events[step]?.draft;
    const draft = refused?.verdict === "rejected" ? refused : row;
    const round = store.rounds.get(t.round) ?? null;
    const judged = draft && round ? [{ round, draft }] : [];
    const { text: words, source } = draft ?? t;
    const own = judged.length ? null : round;
    render(
      details(
        { text: words, source, judged, own, token: draft && draft !== row ? null : t, at: i },
        close,
      ),
      card,
    );
  }
  /** Scroll to the token under the cursor; the page itself scrolls only for moves in the text. */
  function reveal(span: HTMLElement | null | undefined) {
    if (!span || text.matches(":hover")) return;
    if (document.activeElement === out) return span.scrollIntoView({ block: "nearest" });
    const [frame, box] = [scroll.getBoundingClientRect(), span.getBoundingClientRect()];
    if (box.top < frame.top + 24) scroll.scrollTop -= frame.top + 24 - box.top;
    else if (box.bottom > frame.bottom - 24) scroll.scrollTop += box.bottom - frame.bottom + 24;
  }
  function onCursor(now: Cursor, before: Cursor) {
    show();
    if (now.token !== before.token && now.token >= 0) reveal(spans[now.token]);
    if (now.lit !== before.lit && now.lit?.reveal) reveal(place(now.lit.positions[0]));
    if (model.get("pinned") === pinned()) return;
    model.set("pinned", pinned());
    model.save_changes();
  }
  function onPinned() {
    const i = model.get("pinned");
    if (i !== pinned()) group.pin(i >= 0 ? { token: i } : null);
  }
  /** A token, or the event of a rejected draft token. */
  const under = (e: Event) => {
    const [step, token] = [pane.ghostAt(e), pane.tokenAt(e)];
    return step >= 0 ? { step } : token >= 0 ? { step: store.index().stepOf[token] } : null;
  };
  text.addEventListener("pointerover", (e) => group.hover(under(e)));
  text.addEventListener("pointerleave", () => group.hover(null));
  text.addEventListener("click", (e) => {
    const where = under(e);
    if (where) group.pin(group.cursor.pinned && group.cursor.step === where.step ? null : where);
  });

  // --- life
  const onLive = () => {
    root.classList.toggle("hsd-live", model.get("live"));
    size();
    show();
  };
  follow(onStore, onCursor);
  on("change:pinned", onPinned);
  on("change:ghosts", drawBar);
  on("change:live", onLive);
  onPinned();
  onLive();
  onStore("reset", 0);
  // The first drawing happens before layout: scroll again afterwards.
  const laidOut = new ResizeObserver(() => {
    if (!scroll.clientHeight) return;
    laidOut.disconnect();
    requestAnimationFrame(() => {
      if (!model.get("live")) scroll.scrollTop = start();
    });
  });
  laidOut.observe(scroll);
  return () => laidOut.disconnect();
}

export default linkedWidget(streamView);
