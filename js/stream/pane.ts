// The tokens of the stream: prompt, emitted tokens, ghosts. Tokens are in chunks that begin at a
// line break, so that appending does not change the layout of earlier chunks, and hidden ones are
// not laid out.
import { make, setAttributes } from "../lib/dom";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import type { Draft } from "../lib/tables";
import { unique } from "../lib/widget";
import { brief, FATES, glyphs, KIND_WORDS } from "../lib/words";
import { partsOf, promptPieces, RIGHT_TO_LEFT } from "./text";

/** Tokens after which a chunk ends at the next token that begins with a line break. */
const CHUNK = 160;

/** A node with the drawn parts of a text (text.ts). */
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

/** The tokens of a run in `prompt` and `out`. */
export function tokenPane(prompt: HTMLElement, out: HTMLElement, store: Store, palette: Palette) {
  const uid = unique();
  const spans = [] as HTMLElement[];
  /** Ghosts by the following token. */
  const strips: (HTMLElement | undefined)[] = [];
  let promptSpans = [] as HTMLElement[];
  let lastRound = -1;
  /** The last chunk and its tokens. */
  let tail: HTMLElement | null = null;
  let count = 0;
  let dimmed = Infinity; // tokens from here on are not yet emitted during playback

  /** Begin a chunk, whose first token begins a round or not. */
  function begin(first = false) {
    if (tail) {
      // Its estimated height until it is laid out.
      const lines = tail.querySelectorAll(".hsd-nl").length;
      tail.style.setProperty("--lines", String(lines));
      // The first line break of the next chunk is the edge of its box.
      const edge = make("span", first ? "hsd-first" : "", "", { "aria-hidden": "true" });
      edge.append(make("span", "hsd-nl", "", { "data-glyph": "↵" }));
      tail.append(edge);
    }
    // The first chunk continues the prompt's last line.
    tail = make(tail ? "div" : "span", "hsd-chunk", "", { role: "presentation" });
    out.append(tail);
    count = 0;
    return tail;
  }

  function ghostsOf(roundId: number) {
    // The most likely rejected branch, then a count of the others; the card lists all.
    const drafts = store.drafts.get(roundId) || [];
    const refused = drafts.filter((d) => d.verdict === "rejected");
    if (!refused.length) return null;
    const strip = make("span", "hsd-strip", "", { "aria-hidden": "true" });
    let node: Draft | undefined = refused[0];
    let shown = 0;
    while (node && shown < 2) {
      const data = {
        "data-family": palette.family(node.source),
        "data-verdict": node.verdict,
        "data-node": node.node,
      };
      const more = { "data-round": roundId, title: FATES[node.verdict] };
      strip.append(make("span", "hsd-ghost", brief(node.text), { ...data, ...more }));
      shown += 1;
      const here: number = node.node;
      node = drafts.find((d) => d.parent === here && d.verdict !== "accepted");
    }
    const others =
      drafts.filter((d) => d.verdict === "rejected" || d.verdict === "unreached").length - shown;
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
    const span = written("hsd-tok", t.text);
    span.id = `${uid}-t${i}`;
    Object.assign(span.dataset, { i: String(i), kind: t.kind, family: palette.family(t.source) });
    span.classList.toggle("hsd-first", t.round !== lastRound);
    span.classList.toggle("hsd-bytes", t.raw !== null);
    lastRound = t.round;
    const words = [
      KIND_WORDS[t.kind] || t.kind,
      palette.words(t.source),
      `round ${store.order.get(t.round)}`,
    ];
    const label = `${glyphs(t.text)}: ${words.join(", ")}`;
    setAttributes(span, { role: "option", "aria-selected": "false", "aria-label": label });
    const strip = t.depth === 0 ? ghostsOf(t.round) : null;
    if (strip) {
      (tail ?? begin()).append(strip);
      strips[i] = strip;
    }
    if (!tail || (count >= CHUNK && t.text.startsWith("\n")))
      begin(span.classList.contains("hsd-first"));
    tail?.append(span);
    spans.push(span);
    count += 1;
  }

  return {
    spans,
    /** Redraw everything. */
    clear() {
      spans.length = strips.length = 0;
      dimmed = Infinity;
      lastRound = -1;
      tail = null;
      out.replaceChildren();
      const pieces = store.promptIds.map((i) => store.pieces[i]);
      const known = pieces.length && pieces.every((piece) => piece !== undefined);
      const texts = known ? promptPieces(pieces, store.prompt) : store.prompt ? [store.prompt] : [];
      promptSpans = texts.map((text) => written("hsd-ptok", text));
      prompt.replaceChildren(...promptSpans);
      // A conversation has a template around it: its end is in view, the rest scrolls.
      const isChat = Boolean(store.meta.chat);
      prompt.classList.toggle("hsd-chat", isChat);
      prompt.tabIndex = isChat ? 0 : -1;
      prompt.scrollTop = prompt.scrollHeight;
      for (let i = 0; i < store.tokens.length; i++) drawOne(i);
    },
    /** Draw new tokens from `from` on. */
    draw(from: number) {
      for (let i = from; i < store.tokens.length; i++) drawOne(i);
    },
    /** The token of an event; -1: none. */
    tokenAt(event: Event) {
      const node = (event.target as Element).closest?.<HTMLElement>(".hsd-tok[data-i]");
      return node && out.contains(node) ? Number(node.dataset.i) : -1;
    },
    /**
     * The event of the draft token under the pointer: its rejection, or for an unexamined one the
     * rejection before it; -1: none.
     */
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
      for (let k = low; k < Math.min(high, spans.length); k++)
        for (const node of [spans[k], strips[k]]) node?.classList.toggle("hsd-later", k >= from);
      dimmed = from;
    },
  };
}
