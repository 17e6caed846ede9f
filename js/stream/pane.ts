// The tokens of the stream: prompt, emitted tokens, ghosts. Tokens are in chunks that end at line breaks, so that
// appending does not change the layout of earlier chunks, and hidden ones are not laid out.

import { make } from "../lib/dom";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft } from "../lib/tables";
import { brief, glyphs, KIND_WORDS, VERDICT_WORDS } from "../lib/words";
import type { TextPart } from "./text";
import { cutAt, endsLine, partsOf, promptPieces, RIGHT_TO_LEFT, wholeChars } from "./text";

export type Pane = ReturnType<typeof tokenPane>;

/** Tokens after which a chunk ends at the next line break. */
const CHUNK = 160;

/** Write parts of a text (text.ts) into a node, one child per part. */
function write(node: HTMLElement, parts: TextPart[]) {
  node.replaceChildren(
    ...parts.map(({ shown, cls, glyph }) => {
      if (!cls) return document.createTextNode(shown);
      const mark = make("span", cls, shown);
      if (glyph) mark.dataset.glyph = glyph;
      return mark;
    }),
  );
}

/** The tokens in `prompt` and `out`. `blanks()`: whether blanks have glyphs. */
export function tokenPane({
  text,
  prompt,
  out,
  store,
  palette,
  blanks,
}: {
  text: HTMLElement;
  prompt: HTMLElement;
  out: HTMLElement;
  store: Store;
  palette: Palette;
  blanks: () => boolean;
}) {
  const uid = `hsd${Math.random().toString(36).slice(2, 9)}`;
  const spans = [] as HTMLElement[];
  /** The rest of a token in the next chunk: node and start in its text. */
  const rests: Map<number, { node: HTMLElement; at: number }> = new Map();
  /** Ghosts by the following token. */
  const strips: (HTMLElement | undefined)[] = [];
  let promptSpans = [] as HTMLElement[];
  let promptTexts = [] as string[];
  let lastRound = -1;
  /** The last chunk and its tokens. */
  let tail = null as HTMLElement | null;
  let count = 0;
  let dimmed = Infinity; // tokens from here on are not yet emitted during playback

  function begin() {
    tail?.style.setProperty("--lines", String(tail.querySelectorAll(".hsd-nl").length)); // estimated height until laid out
    // The first chunk continues the prompt's last line.
    tail = make(tail ? "div" : "span", "hsd-chunk");
    tail.setAttribute("role", "presentation");
    out.append(tail);
    count = 0;
    return tail;
  }
  function fill(i: number) {
    const parts = drawn(i);
    const rest = rests.get(i);
    write(spans[i], rest ? parts.filter((p) => p.to <= rest.at) : parts);
    if (rest)
      write(
        rest.node,
        parts.filter((p) => p.from >= rest.at),
      );
  }
  function drawn(i: number) {
    const parts = partsOf(store.tokens[i].text, blanks(), blanks() && endsLine(store.tokens, i));
    return cutAt(parts, rests.get(i)?.at ?? 0);
  }
  /** Continue token `i` at the start of `chunk`, from `at`. */
  function goOn(i: number, at: number, chunk: HTMLElement) {
    const node = make("span", "hsd-rest");
    for (const name of ["i", "kind", "family"]) node.dataset[name] = spans[i].dataset[name];
    chunk.prepend(node);
    rests.set(i, { node, at });
  }

  function ghostsOf(roundId: number) {
    // The most likely rejected branch, then a count of the others; the card lists all.
    const drafts = store.drafts.get(roundId) || [];
    const refused = drafts.filter((d) => d.verdict === "rejected");
    const strip = make("span", "hsd-strip");
    strip.setAttribute("aria-hidden", "true");
    if (!refused.length) return null;
    let node: Draft | undefined = refused[0];
    let shown = 0;
    while (node && shown < 2) {
      const ghost = make("span", "hsd-ghost", brief(node.text));
      ghost.dataset.family = palette.family(node.source);
      ghost.dataset.verdict = node.verdict;
      ghost.dataset.round = String(roundId);
      ghost.dataset.node = String(node.node);
      ghost.title = VERDICT_WORDS[node.verdict] ?? node.verdict;
      strip.append(ghost);
      shown += 1;
      const here: number = node.node;
      node = drafts.find((d) => d.parent === here && d.verdict !== "accepted");
    }
    const others = drafts.filter((d) => d.verdict === "rejected" || d.verdict === "unreached").length - shown;
    if (others > 0) strip.append(make("span", "hsd-ghost-count", `+${others}`));
    return strip;
  }

  function stepOfGhost(ghost: HTMLElement) {
    const round = Number(ghost.dataset.round);
    const drafts = store.drafts.get(round) || [];
    let draft = drafts.find((d) => d.node === Number(ghost.dataset.node));
    while (draft && draft.verdict !== "rejected") {
      const above: number = draft.parent;
      draft = drafts.find((d) => d.node === above);
    }
    return store.index().events.findIndex((e) => e.draft !== null && e.draft === draft);
  }

  function drawOne(i: number) {
    const t = store.tokens[i];
    const span = make("span", "hsd-tok");
    span.id = `${uid}-t${i}`;
    span.dataset.i = String(i);
    span.dataset.kind = t.kind;
    span.dataset.family = palette.family(t.source);
    if (t.round !== lastRound) span.classList.add("hsd-first");
    lastRound = t.round;
    span.setAttribute("role", "option");
    span.setAttribute("aria-selected", "false");
    span.setAttribute(
      "aria-label",
      `${glyphs(t.text)}: ${KIND_WORDS[t.kind] || t.kind}, ${palette.words(t.source)}, round ${store.order.get(t.round)}`,
    );
    if (t.raw !== null) span.classList.add("hsd-bytes");
    span.classList.toggle("hsd-rtl", RIGHT_TO_LEFT.test(t.text));
    const chunk = tail || begin();
    const strip = t.depth === 0 ? ghostsOf(t.round) : null;
    if (strip) {
      chunk.append(strip);
      strips[i] = strip;
    }
    chunk.append(span);
    spans.push(span);
    count += 1;
    const cut = count >= CHUNK ? t.text.lastIndexOf("\n") + 1 : 0;
    if (cut) {
      const next = begin();
      if (cut < t.text.length) goOn(i, cut, next);
    }
    fill(i);
  }

  // --- text without line breaks: chunks end at the browser's soft line breaks
  /** The index in a token's text where a line begins; 0: at its start; -1: none. */
  function lineIn(span: Element, left: number) {
    const boxes = [...span.getClientRects()];
    if (boxes.length && Math.abs(boxes[0].left - left) < 1) return 0;
    const below = boxes.find((b) => b.top > boxes[0].top + 4);
    const i = Number((span as HTMLElement).dataset.i);
    if (!below || rests.has(i)) return -1;
    const range = document.createRange();
    for (const [n, part] of drawn(i).entries()) {
      const node = part.cls ? span.childNodes[n].firstChild : span.childNodes[n];
      if (!node || !wholeChars(part)) continue;
      for (let k = 0; k < part.shown.length; k++) {
        range.setStart(node, k);
        range.setEnd(node, k + 1);
        const boxes = range.getClientRects();
        // The whole token; its round mark would move.
        if (boxes.length && boxes[boxes.length - 1].top > below.top - 4) return part.from + k || -1;
      }
    }
    return -1;
  }
  function split(chunk: HTMLElement) {
    const tokens = [...chunk.children].filter((c) => c.classList.contains("hsd-tok")) as HTMLElement[];
    if (tokens.length <= 2 * CHUNK || !text.clientWidth) return;
    const left = text.getBoundingClientRect().left;
    /** token at a line start, and index in its text */ const cuts: [number, number][] = [];
    for (let k = CHUNK; k < tokens.length; k++) {
      const at = lineIn(tokens[k], left);
      if (at < 0) continue;
      cuts.push([k, at]);
      k += CHUNK - 1;
    }
    // From last to first, so that each takes the following nodes.
    for (const [k, at] of [...cuts].reverse()) {
      const next = make("div", "hsd-chunk hsd-soft");
      next.setAttribute("role", "presentation");
      for (let move = (at ? tokens[k].nextSibling : tokens[k]) as ChildNode | null; move; ) {
        const after = move.nextSibling;
        next.append(move);
        move = after;
      }
      chunk.after(next);
      const i = Number(tokens[k].dataset.i);
      if (at) {
        goOn(i, at, next);
        fill(i);
      }
      if (chunk === tail) tail = next;
    }
    if (tail) count = tail.querySelectorAll(".hsd-tok").length;
  }
  function settle() {
    for (const soft of out.querySelectorAll(".hsd-soft")) {
      const before = soft.previousElementSibling as HTMLElement;
      const rest = soft.firstElementChild as HTMLElement;
      if (rest.classList.contains("hsd-rest")) {
        rest.remove();
        rests.delete(Number(rest.dataset.i));
        fill(Number(rest.dataset.i));
      }
      before.append(...soft.childNodes);
      if (soft === tail) tail = before;
      soft.remove();
    }
    if (tail) count = tail.querySelectorAll(".hsd-tok").length;
    for (const chunk of [...out.children]) split(chunk as HTMLElement);
  }
  let width = 0;
  const observer = new ResizeObserver(() => {
    if (text.clientWidth === width || !text.clientWidth) return;
    width = text.clientWidth;
    settle();
  });
  observer.observe(text);

  const pane = {
    spans,
    /** Redraw everything. */
    clear() {
      spans.length = strips.length = 0;
      rests.clear();
      dimmed = Infinity;
      lastRound = -1;
      tail = null;
      out.replaceChildren();
      const ids = store.promptIds;
      const known = ids.length && ids.every((i) => store.pieces[i] !== undefined);
      promptTexts = known
        ? promptPieces(
            ids.map((i) => store.pieces[i]),
            store.prompt,
          )
        : store.prompt
          ? [store.prompt]
          : [];
      const texts = promptTexts.map((text) => ({ text }));
      promptSpans = texts.map((part, i) => {
        const span = make("span", "hsd-ptok");
        span.classList.toggle("hsd-rtl", RIGHT_TO_LEFT.test(part.text));
        write(span, partsOf(part.text, blanks(), blanks() && endsLine(texts, i)));
        return span;
      });
      prompt.replaceChildren(...promptSpans);
      for (let i = 0; i < store.tokens.length; i++) drawOne(i);
      settle();
    },
    /** Draw new tokens from `from` on. */
    draw(from: number) {
      for (let i = from; i < store.tokens.length; i++) drawOne(i);
      // Earlier blanks may now be trailing.
      if (blanks()) for (let i = from - 1; i >= 0 && /[ \t\u00a0]$/.test(store.tokens[i].text); i--) fill(i);
      if (tail && count > 2 * CHUNK) split(tail);
    },
    settle,
    /** The nodes of a token. */
    nodes: (i: number) => [spans[i], rests.get(i)?.node].filter(Boolean) as HTMLElement[],
    /** The token of an event; -1: none. */
    tokenAt(event: Event) {
      const node = (event.target as Element).closest?.<HTMLElement>(".hsd-tok[data-i], .hsd-rest");
      return node && out.contains(node) ? Number(node.dataset.i) : -1;
    },
    /** The event of the draft token under the pointer: its rejection, or for an unexamined one the rejection before it; -1: none. */
    ghostAt(event: Event) {
      const ghost = (event.target as Element).closest?.<HTMLElement>(".hsd-ghost[data-node]");
      return ghost && out.contains(ghost) ? stepOfGhost(ghost) : -1;
    },
    /** The ghost of an event's rejected draft token, if it is drawn. */
    ghostOf: (step: number) => {
      const event = store.index().events[step];
      if (event?.draft?.verdict !== "rejected") return null;
      const query = `.hsd-ghost[data-node="${event.draft.node}"]`;
      return strips[event.token]?.querySelector<HTMLElement>(query) ?? null;
    },
    /** The node at a text position (0: the first prompt token), or null. */
    place(position: number | null | undefined) {
      if (position === null || position === undefined) return null;
      const n = store.promptIds.length;
      if (!n && store.prompt) return null; // the prompt's token count is unknown
      if (position < n) return promptSpans.length === n ? promptSpans[position] : null;
      return spans[position - n] || null;
    },
    dim(from: number) {
      const [low, high] = from < dimmed ? [from, dimmed] : [dimmed, from];
      for (let k = low; k < Math.min(high, spans.length); k++) {
        for (const node of [spans[k], strips[k], rests.get(k)?.node]) node?.classList.toggle("hsd-later", k >= from);
      }
      dimmed = from;
    },
    end: () => observer.disconnect(),
  };
  return pane;
}
