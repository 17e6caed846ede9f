// Draws the tokens of the stream: prompt, emitted tokens, ghosts. Tokens are grouped in chunks that
// begin at a line break, so that appending does not change the layout of earlier chunks, and the
// browser skips the layout of hidden ones.
import { make, setAttributes } from "../lib/dom";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Token } from "../lib/tables";
import { unique } from "../lib/widget";
import { brief, FATES, glyphs, KIND_WORDS } from "../lib/words";
import { ghostsOf, stepOfGhost } from "./ghosts";
import { partsOf, promptPieces, RIGHT_TO_LEFT } from "./text";

/** Number of tokens after which a chunk ends at the next token that begins with a line break. */
const CHUNK = 160;

/** Return a node with the drawn parts of a text (text.ts). */
function written(cls: string, text: string) {
  const node = make("span", cls);
  for (const part of partsOf(text)) {
    const mark = part.cls ? make("span", part.cls, part.shown) : null;
    if (mark && part.glyph) mark.dataset.glyph = part.glyph;
    node.append(mark ?? part.shown);
  }
  node.classList.toggle("hsd-rtl", RIGHT_TO_LEFT.test(text));
  return node;
}

/** The last chunk: its element and its number of tokens. */
interface Chunk {
  el: HTMLElement;
  count: number;
}

/** Draws the tokens of a run into `prompt` and `out`. */
export class TokenPane {
  readonly spans: HTMLElement[] = [];
  private readonly uid = unique();
  /** Strips of ghosts, by the index of the token after them. */
  private readonly strips: (HTMLElement | undefined)[] = [];
  private promptSpans: HTMLElement[] = [];
  private lastRound = -1;
  private tail: Chunk | null = null;
  /** Index of the first token not emitted yet during playback. */
  private dimmed = Infinity;

  constructor(
    private readonly prompt: HTMLElement,
    private readonly out: HTMLElement,
    private readonly store: Store,
    private readonly palette: Palette,
  ) {}

  /** Draw everything again. */
  clear() {
    this.spans.length = 0;
    this.strips.length = 0;
    this.dimmed = Infinity;
    this.lastRound = -1;
    this.tail = null;
    this.out.replaceChildren();
    this.drawPrompt();
    this.draw(0);
  }

  /** Draw new tokens from `from` on. */
  draw(from: number) {
    for (let place = from; place < this.store.tokens.length; place++) this.drawToken(place);
  }

  /** Return the token under a pointer event; -1: none. */
  tokenAt(event: Event): number {
    const node = this.closest(event, ".hsd-tok[data-i]");
    return node ? Number(node.dataset.i) : -1;
  }

  /**
   * Return the event of the draft token under the pointer: its rejection or, if it was not
   * examined, that of an ancestor; -1: none.
   */
  ghostAt(event: Event): number {
    const ghost = this.closest(event, ".hsd-ghost[data-node]");
    if (!ghost) return -1;
    return stepOfGhost(this.store, Number(ghost.dataset.round), Number(ghost.dataset.node));
  }

  /** Return the ghost of the draft token that an event rejects; null: not drawn. */
  ghostOf(step: number): HTMLElement | null {
    const event = this.store.index().events[step];
    if (event?.draft?.verdict !== "rejected") return null;
    const query = `.hsd-ghost[data-node="${event.draft.node}"]`;
    return this.strips[event.token]?.querySelector<HTMLElement>(query) ?? null;
  }

  /** Return the ghost of a draft token; null: not drawn. */
  ghostNode(round: number, node: number): HTMLElement | null {
    return this.out.querySelector(`.hsd-ghost[data-round="${round}"][data-node="${node}"]`);
  }

  /** Return the node at a position of the text (0: first prompt token), or null. */
  place(position: number | null | undefined): HTMLElement | null {
    if (position === null || position === undefined) return null;
    const count = this.store.promptIds.length;
    if (!count && this.store.prompt) return null; // the prompt's token count is unknown
    if (position >= count) return this.spans[position - count] ?? null;
    return this.promptSpans.length === count ? this.promptSpans[position] : null;
  }

  /** Dim the tokens from an index on. */
  dim(from: number) {
    const low = Math.min(from, this.dimmed);
    const high = Math.max(from, this.dimmed);
    for (let k = low; k < Math.min(high, this.spans.length); k++)
      for (const node of [this.spans[k], this.strips[k]])
        node?.classList.toggle("hsd-later", k >= from);
    this.dimmed = from;
  }

  private closest(event: Event, selector: string): HTMLElement | null {
    const node = (event.target as Element).closest?.<HTMLElement>(selector);
    return node && this.out.contains(node) ? node : null;
  }

  private drawPrompt() {
    const { prompt, store } = this;
    const pieces = store.promptIds.map((id) => store.pieces[id]);
    const isKnown = pieces.length > 0 && pieces.every((piece) => piece !== undefined);
    let texts = store.prompt ? [store.prompt] : [];
    if (isKnown) texts = promptPieces(pieces, store.prompt);
    this.promptSpans = texts.map((text) => written("hsd-ptok", text));
    prompt.replaceChildren(...this.promptSpans);
    prompt.scrollTop = 0;
  }

  private drawToken(place: number) {
    const token = this.store.tokens[place];
    const isFirst = token.round !== this.lastRound;
    this.lastRound = token.round;
    const span = this.spanOf(token, place, isFirst);
    const strip = token.depth === 0 ? this.stripOf(token.round) : null;
    if (strip) {
      (this.tail ?? this.begin()).el.append(strip);
      this.strips[place] = strip;
    }
    const isFull = this.tail !== null && this.tail.count >= CHUNK && token.text.startsWith("\n");
    const chunk = this.tail && !isFull ? this.tail : this.begin(isFirst);
    chunk.el.append(span);
    chunk.count += 1;
    this.spans.push(span);
  }

  private spanOf(token: Token, place: number, isFirst: boolean) {
    const { palette, store } = this;
    const { kind, source, text, raw, round } = token;
    const span = written("hsd-tok", text);
    span.id = `${this.uid}-t${place}`;
    span.dataset.i = String(place);
    span.dataset.kind = kind;
    span.dataset.family = palette.family(source);
    span.classList.toggle("hsd-first", isFirst);
    span.classList.toggle("hsd-bytes", raw !== null);
    const number = `round ${store.order.get(round)}`;
    const facts = [KIND_WORDS[kind] || kind, palette.words(source), number];
    const label = `${glyphs(text)}: ${facts.join(", ")}`;
    return setAttributes(span, { role: "option", "aria-selected": "false", "aria-label": label });
  }

  /** Return the strip of ghosts of a round. */
  private stripOf(round: number) {
    const { shown, others } = ghostsOf(this.store.drafts.get(round) ?? []);
    if (!shown.length) return null;
    const strip = make("span", "hsd-strip", "", { "aria-hidden": "true" });
    for (const { source, verdict, node, text } of shown) {
      const ghost = make("span", "hsd-ghost", brief(text), {
        "data-family": this.palette.family(source),
        "data-verdict": verdict,
        "data-node": node,
        "data-round": round,
        title: FATES[verdict],
      });
      strip.append(ghost);
    }
    if (others > 0) strip.append(make("span", "hsd-ghost-count", `+${others}`));
    return strip;
  }

  /** Begin a chunk; `isFirst`: its first token begins a round. */
  private begin(isFirst = false): Chunk {
    if (this.tail) closeChunk(this.tail.el, isFirst);
    const el = make(this.tail ? "div" : "span", "hsd-chunk", "", { role: "presentation" });
    this.out.append(el);
    this.tail = { el, count: 0 };
    return this.tail;
  }
}

/** End a chunk; `isFirst`: the next chunk's first token begins a round. */
function closeChunk(el: HTMLElement, isFirst: boolean) {
  // The estimated height of the chunk until it is laid out.
  const lines = el.querySelectorAll(".hsd-nl").length;
  el.style.setProperty("--lines", String(lines));
  // The first line break of the next chunk is the edge between the two boxes.
  const edge = make("span", isFirst ? "hsd-first" : "", "", { "aria-hidden": "true" });
  edge.append(make("span", "hsd-nl", "", { "data-glyph": "↵" }));
  el.append(edge);
}
