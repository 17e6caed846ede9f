// Shows the connection between a copied passage and its source: marks on both, a line between them,
// and a description.
import { nothing, render, svg } from "lit-html";
import { draw, make } from "../lib/dom";
import type { Palette } from "../lib/palette";
import type { Store } from "../lib/run";
import { type Copy, copyText } from "./copy";
import { type Box, type Link, linkOf } from "./link";
import type { TokenPane } from "./pane";

const SOURCE = "hsd-lit";
const COPY = "hsd-copy";
const BEFORE = "hsd-before";

/** The drawn nodes of the text that a connection marks. */
interface Nodes {
  source: HTMLElement[];
  copy: HTMLElement[];
  before: HTMLElement[];
}

const isThere = (node: HTMLElement | null): node is HTMLElement => node !== null;
const range = (from: number, length: number) => Array.from({ length }, (_, k) => from + k);

export class Connection {
  /** The description; its element is always present. */
  readonly words = make("span", "hsd-copied");
  private readonly layer = draw("svg", { class: "hsd-link", "aria-hidden": "true" });
  private marked: HTMLElement[] = [];
  private nodes: Nodes | null = null;
  private shown: Copy | null = null;

  constructor(
    private readonly text: HTMLElement,
    /** Box in which the prompt scrolls. */
    private readonly prompt: HTMLElement,
    private readonly pane: TokenPane,
    private readonly store: Store,
    private readonly palette: Palette,
  ) {
    text.append(this.layer);
  }

  /** Show the connection of a copy, or none; `reveal`: scroll its source into view. */
  show(copy: Copy | null, reveal = false) {
    const isOther = JSON.stringify(copy) !== JSON.stringify(this.shown);
    this.shown = copy;
    this.unmark();
    this.nodes = copy ? this.nodesOf(copy) : null;
    this.words.textContent = copy ? copyText(copy, this.store.promptIds.length) : "";
    if (copy) this.text.dataset.family = this.palette.family(copy.source);
    else delete this.text.dataset.family;
    if (this.nodes) this.mark(this.nodes);
    if (isOther && reveal) this.reveal();
    this.draw();
  }

  /** Redraw the line after a change of the layout. */
  draw() {
    render(this.line() ?? nothing, this.layer as unknown as HTMLElement);
  }

  private nodesOf({ from, at, length, kept, key, dropped, round }: Copy): Nodes {
    const { pane } = this;
    const placed = (positions: number[]) =>
      positions.map((position) => pane.place(position)).filter(isThere);
    const ghosts = dropped.map((node) => pane.ghostNode(round, node)).filter(isThere);
    return {
      source: placed(range(from, length)),
      copy: [...placed(range(at, kept)), ...ghosts],
      before: placed([...range(from - key, key), ...range(at - key, key)]),
    };
  }

  private mark({ source, copy, before }: Nodes) {
    const mark = (nodes: HTMLElement[], cls: string) => {
      for (const node of nodes) node.classList.add(cls);
      this.marked.push(...nodes);
    };
    mark(source, SOURCE);
    mark(copy, COPY);
    mark(before, BEFORE);
  }
  private unmark() {
    for (const node of this.marked) node.classList.remove(SOURCE, COPY, BEFORE);
    this.marked = [];
  }

  /** Scroll the source into view within the prompt, without scrolling the page. */
  private reveal() {
    const first = this.nodes?.source[0];
    if (!first || !this.prompt.contains(first)) return;
    const frame = this.prompt.getBoundingClientRect();
    const box = first.getBoundingClientRect();
    if (box.top >= frame.top && box.bottom <= frame.bottom) return;
    const line = parseFloat(getComputedStyle(this.prompt).lineHeight);
    const lineNumber = Math.floor((box.top - frame.top + this.prompt.scrollTop) / line);
    // Scroll by whole lines, with some lines of context above if there is room.
    const before = Math.floor((frame.height / line - 1) / 2);
    this.prompt.scrollTop = line * (lineNumber - before);
  }

  private line() {
    const link = this.nodes && this.linkOf(this.nodes);
    if (!link) return null;
    const { d, head } = link;
    return svg`<path class="hsd-link-line" pathLength="1" d=${d}></path
      ><path class="hsd-link-end" d=${head}></path>`;
  }

  /** Return the line from the visible lines of the source; null: the prompt's box hides them. */
  private linkOf({ source, copy }: Nodes): Link | null {
    const origin = this.text.getBoundingClientRect();
    const frame = this.prompt.getBoundingClientRect();
    const isSeen = ({ top, bottom }: Box) => {
      const middle = (top + bottom) / 2;
      return middle > frame.top && middle < frame.bottom;
    };
    const inPrompt = source.some((node) => this.prompt.contains(node));
    const boxesOf = (nodes: HTMLElement[]) => nodes.flatMap((node) => [...node.getClientRects()]);
    const moved = ({ left, right, top, bottom }: Box): Box => ({
      left: left - origin.left,
      right: right - origin.left,
      top: top - origin.top,
      bottom: bottom - origin.top,
    });
    const visibleBoxes = boxesOf(source).filter((box) => !inPrompt || isSeen(box));
    return linkOf(visibleBoxes.map(moved), boxesOf(copy).map(moved), origin.width);
  }
}
