// The token stream: the prompt, the emitted tokens coloured by source and marked by verdict,
// rejected drafts as ghosts, and a card with details.
import { html, render } from "lit-html";
import { createCard } from "../lib/card";
import type { Cursor, Where } from "../lib/cursor";
import { make } from "../lib/dom";
import { check } from "../lib/fields";
import { exampleOf } from "../lib/lesson";
import { linkedWidget, type View } from "../lib/linked";
import type { Change } from "../lib/run";
import { Connection } from "./connection";
import { type Copy, copyAt, firstCopy } from "./copy";
import { closeButton, emptyCard, legendOf, tokenCard } from "./details";
import { TokenPane } from "./pane";
import { PromptBox } from "./prompt";

/** Families of sources that copy only from the text of the run. */
const LOCAL = ["context", "baseline"];
/** Tolerance in pixels at which a token or the end of the text counts as visible. */
const EDGE = 24;
/** Maximum number of tokens of a short run. */
const SHORT = 80;
/** Milliseconds after which new steps are drawn in a hidden tab, which has no animation frames. */
const HIDDEN = 250;
const DETAILS = "Details: rejected drafts, rounds, numbers";
const MARKS = ["hsd-on", "hsd-pinned", "hsd-mate", "hsd-lit2"];

interface Traits {
  pinned: number;
  live: boolean;
  details: boolean;
}

/** The view: the text with the marks of the cursor, and the card. */
class StreamView {
  private readonly bar = make("div", "hsd-bar");
  // Focusable by a script, because it scrolls.
  private readonly scroll = make("div", "hsd-scroll", "", { tabindex: -1 });
  private readonly text = make("div", "hsd-text");
  private readonly out = make("span", "hsd-out", "", {
    tabindex: 0,
    role: "listbox",
    "aria-label": "Emitted tokens. Arrow keys move, Enter pins, Escape unpins.",
  });
  // Focusable, because it scrolls.
  private readonly card = make("div", "hsd-card", "", {
    tabindex: 0,
    role: "group",
    "aria-label": "Token details",
  });
  private readonly prompt = new PromptBox(() => this.connection.draw());
  private readonly pane: TokenPane;
  private readonly connection: Connection;
  /** Copy shown while no token is selected. */
  private usual: Copy | null = null;
  private readonly details: ReturnType<typeof createCard>;
  /** Whether the view follows the end of the text; false after the visitor scrolls away. */
  private isStuck = true;
  /** Index of the first token not drawn yet; -1: all are drawn. */
  private pending = -1;
  /** Functions that draw the new steps in the next frame, or later in a hidden tab. */
  private readonly flushers: (() => void)[];
  /** Id of the run that the visitor saw being decoded. */
  private decoded = "";
  private marked: HTMLElement[] = [];
  /** Key of the data of the drawn card. */
  private cardKey = "";
  private readonly layout = new ResizeObserver(() => this.onLayout());

  constructor(private readonly view: View<Traits>) {
    const { root, store, palette, group } = view;
    this.flushers = [0, HIDDEN].map((ms) => view.soon(() => this.flush(), ms));
    const { box } = this.prompt;
    this.pane = new TokenPane(box, this.out, store, palette);
    this.connection = new Connection(this.text, box, this.pane, store, palette);
    const light = (position: number) => group.light(position, true);
    this.details = createCard(store, palette, light, () => group.branch);
    const body = make("div", "hsd-body");
    const heading = make("div", "hsd-said");
    heading.append(make("span", "", "Output"), this.connection.words);
    this.text.prepend(this.prompt.head, box, heading, this.out);
    this.scroll.append(this.text);
    body.append(this.scroll, this.card);
    root.classList.add("hsd-stream");
    root.append(make("h2", "hsd-heard", "Text of the run"), this.bar, body);
    this.listen();
    this.onPinned();
    this.onLive();
    this.reset();
    this.layout.observe(this.text);
  }

  close() {
    this.layout.disconnect();
  }

  // --- events
  private listen() {
    const { view, text, scroll } = this;
    const { group } = view;
    scroll.addEventListener("scroll", () => this.onScroll(), { passive: true });
    text.addEventListener("pointerover", (event) => group.hover(this.under(event)));
    text.addEventListener("pointerleave", () => group.hover(null));
    text.addEventListener("click", (event) => this.onClick(event));
    view.follow(
      (what, from) => this.onStore(what, from),
      (cursor, before) => this.onCursor(cursor, before),
    );
    view.on("change:pinned", () => this.onPinned());
    view.on("change:details", () => this.onDetails());
    view.on("change:live", () => this.onLive());
  }

  private onScroll() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroll;
    this.isStuck = scrollTop + clientHeight > scrollHeight - EDGE;
  }

  private onClick(event: Event) {
    const { group } = this.view;
    const where = this.under(event);
    if (!where) return;
    const isPinned = group.cursor.pinned && group.cursor.step === where.step;
    group.pin(isPinned ? null : where);
  }

  private onStore(what: Change, from: number) {
    if (what === "reset") return this.reset();
    if (this.pending >= 0) return;
    this.pending = from;
    // A hidden tab gets no animation frames; the timer still updates it.
    for (const flush of this.flushers) flush();
  }

  private onCursor(cursor: Cursor, before: Cursor) {
    const { model } = this.view;
    this.show();
    if (cursor.token !== before.token && cursor.token >= 0)
      this.reveal(this.pane.spans[cursor.token]);
    if (cursor.lit !== before.lit && cursor.lit?.reveal)
      this.reveal(this.pane.place(cursor.lit.positions[0]));
    if (model.get("pinned") === this.pinned()) return;
    model.set("pinned", this.pinned());
    model.save_changes();
  }

  private onPinned() {
    const { model, group } = this.view;
    const token = model.get("pinned");
    if (token !== this.pinned()) group.pin(token >= 0 ? { token } : null);
  }

  private onDetails() {
    this.drawBar();
    this.show();
  }

  private onLive() {
    this.view.root.classList.toggle("hsd-live", this.isLive());
    this.findUsual();
    this.setSize();
    this.show();
  }

  /** Called when the layout of the text has changed. */
  private onLayout() {
    if (!this.scroll.clientHeight) return;
    this.prompt.fit();
    this.connection.draw();
  }

  /** Return the token under the pointer, or the event of the rejected draft token. */
  private under(event: Event): Where | null {
    const step = this.pane.ghostAt(event);
    if (step >= 0) return { step };
    const token = this.pane.tokenAt(event);
    return token >= 0 ? { step: this.view.store.index().stepOf[token] } : null;
  }

  // --- the run
  private isLive() {
    return this.view.model.get("live");
  }
  /** Find the example of a complete run; none while the run grows. */
  private findUsual() {
    const { store } = this.view;
    this.usual = this.isLive() ? null : firstCopy(store, this.isLocal, exampleOf(store));
  }
  private readonly isLocal = (source: string) => LOCAL.includes(this.view.palette.family(source));

  /** Draw another run. */
  private reset() {
    this.setSize();
    this.pending = -1;
    this.isStuck = true;
    this.marked = [];
    this.pane.clear();
    this.prompt.show(this.view.store.prompt);
    this.findUsual();
    this.drawBar();
    this.scroll.scrollTop = this.isLive() ? this.scroll.scrollHeight : 0;
    this.show();
  }

  /** Draw the tokens that have arrived. */
  private flush() {
    if (this.pending < 0) return;
    const from = this.pending;
    this.pending = -1;
    this.pane.draw(from);
    this.drawBar();
    if (from === 0) this.show(); // the text may now be visible
    if (this.isStuck && this.isLive()) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  /**
   * Enlarge the letters of a short run, unless the visitor saw it being decoded: letters must not
   * change while they are read.
   */
  private setSize() {
    const { root, store } = this.view;
    if (this.isLive()) this.decoded = store.run;
    const count = store.tokens.length;
    const isShort = count > 0 && count <= SHORT && store.run !== this.decoded;
    root.classList.toggle("hsd-short", isShort);
  }

  private drawBar() {
    const { root, model, store, palette } = this.view;
    const hasDetails = model.get("details");
    const turn = (on: boolean) => {
      model.set("details", on);
      model.save_changes();
    };
    root.classList.toggle("hsd-detailed", hasDetails);
    const details = check("hsd-switch", DETAILS, hasDetails, turn);
    render(html`${legendOf(store, palette, hasDetails)}${details}`, this.bar);
  }

  // --- scrolling
  /** Scroll to the token under the cursor. The page scrolls only if the text has the focus. */
  private reveal(span: HTMLElement | null | undefined) {
    const { scroll } = this;
    if (!span || this.text.matches(":hover")) return;
    if (document.activeElement === this.out) return span.scrollIntoView({ block: "nearest" });
    const frame = scroll.getBoundingClientRect();
    const box = span.getBoundingClientRect();
    if (box.top < frame.top + EDGE) scroll.scrollTop -= frame.top + EDGE - box.top;
    else if (box.bottom > frame.bottom - EDGE) scroll.scrollTop += box.bottom - frame.bottom + EDGE;
  }

  // --- the cursor
  /** Return the pinned token; -1: none. */
  private pinned(): number {
    const { cursor } = this.view.group;
    return cursor.pinned ? cursor.token : -1;
  }

  /** Return the token under the cursor if it is drawn; -1: none. */
  private here(): number {
    const { token } = this.view.group.cursor;
    return this.pane.spans[token] && this.view.store.tokens[token] ? token : -1;
  }

  private show() {
    this.unmark();
    this.markPointer();
    this.markCursor();
    this.showCopy();
    this.showCard();
  }

  /** Show the copy under the cursor; without a cursor, that of the example. */
  private showCopy() {
    const { store, group } = this.view;
    const { step } = group.cursor;
    const copy = step < 0 ? this.usual : copyAt(store, this.isLocal, step);
    this.connection.show(copy, true);
  }

  private mark(node: HTMLElement | null | undefined, cls: string) {
    if (!node) return;
    node.classList.add(cls);
    this.marked.push(node);
  }

  private unmark() {
    for (const node of this.marked) {
      node.classList.remove(...MARKS);
      if (node.dataset.i) node.setAttribute("aria-selected", "false");
    }
    this.marked = [];
  }

  /** Mark the token under the pointer and highlighted tokens, and dim tokens not emitted yet. */
  private markPointer() {
    const { pane } = this;
    const { token, hover, step, lit, shown } = this.view.group.cursor;
    if (hover && hover.token !== token) this.mark(pane.spans[hover.token], "hsd-on");
    for (const position of lit?.positions ?? []) this.mark(pane.place(position), "hsd-lit2");
    pane.dim(shown ?? Infinity);
    if (hover && hover.step !== step) this.mark(pane.ghostOf(hover.step), "hsd-on");
  }

  /** Mark the cursor's ghost, its token, and the other tokens of the round. */
  private markCursor() {
    const { pane, out } = this;
    const { model, group, store } = this.view;
    const { step, pinned } = group.cursor;
    const ghost = model.get("details") ? pane.ghostOf(step) : null;
    this.mark(ghost, pinned ? "hsd-pinned" : "hsd-on");
    const here = this.here();
    if (here < 0) return out.removeAttribute("aria-activedescendant");
    const span = pane.spans[here];
    const token = store.tokens[here];
    span.setAttribute("aria-selected", "true");
    out.setAttribute("aria-activedescendant", span.id);
    this.mark(span, pinned && !ghost ? "hsd-pinned" : "hsd-on");
    const isMate = (place: number) => store.tokens[place]?.round === token.round;
    for (let place = here - 1; isMate(place); place--) this.mark(pane.spans[place], "hsd-mate");
    for (let place = here + 1; isMate(place); place++) this.mark(pane.spans[place], "hsd-mate");
  }

  private showCard() {
    const { card, details, view } = this;
    const { root, store, group } = view;
    const { step, token } = group.cursor;
    const here = this.here();
    // Announce pinned tokens only, not hovered ones.
    const isAnnounced = this.pinned() === token;
    const isPinned = here >= 0 && isAnnounced;
    const hasDetails = view.model.get("details");
    const parts = [store.run, store.tokens.length, step, here, isAnnounced, hasDetails];
    const key = parts.join(":");
    if (this.cardKey === key) return;
    this.cardKey = key;
    card.setAttribute("aria-live", isAnnounced ? "polite" : "off");
    // A pinned card grows with its content. A card of the token under the pointer keeps its height,
    // so that nothing below it moves.
    root.classList.toggle("hsd-idle", here < 0);
    root.classList.toggle("hsd-grown", isPinned);
    const unpin = () => {
      group.pin(null);
      this.out.focus({ preventScroll: true });
    };
    const content =
      here < 0
        ? emptyCard(store, details, this.isLive(), hasDetails)
        : tokenCard(store, details, here, step, closeButton(!isPinned, unpin));
    render(content, card);
  }
}

export default linkedWidget<Traits>((view) => {
  const stream = new StreamView(view);
  return () => stream.close();
});
