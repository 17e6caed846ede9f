// The texts of compared runs side by side, with one cursor over output positions.
import { html, render } from "lit-html";
import { make } from "../lib/dom";
import type { Palette } from "../lib/palette";
import { duration, figure, glyphs, KIND_WORDS, plural } from "../lib/words";
import { TokenPane } from "../stream/pane";
import { letterTemplate } from "./race_controls";
import { type Runner, shownAt, spentAt } from "./race_time";

const HINT = "← → move by output position, ↑ ↓ select the run; Enter pins, Esc unpins, Space races";

/** The text of a run: its pane and the elements around it. */
interface Column {
  run: Runner;
  text: HTMLElement;
  out: HTMLElement;
  pane: TokenPane;
}
/** The cursor: an output position (-1: none), the index of a run, and whether it is pinned. */
interface Cursor {
  at: number;
  row: number;
  isPinned: boolean;
}

function columnOf(run: Runner, palette: Palette): Column {
  const text = make("div", "hsd-text");
  const label = `Output of ${run.letter}. ${HINT}.`;
  const out = make("div", "hsd-out", "", { tabindex: 0, role: "listbox", "aria-label": label });
  text.append(out);
  const pane = new TokenPane(make("span"), out, run.store, palette);
  pane.clear();
  return { run, text, out, pane };
}

/** The card of a run at an output position: the origin of its token, and its passes and time. */
function cardTemplate({ store, stairs }: Runner, palette: Palette, at: number) {
  const token = store.tokens[at];
  const spent = spentAt(stairs, at);
  if (!token || !spent)
    return html`<p class="hsd-vs-card">ended after ${plural(store.tokens.length, "token")}</p>`;
  const how =
    token.kind === "accepted"
      ? `accepted, from ${palette.phrase(token.source)}`
      : KIND_WORDS[token.kind];
  return html`<p class="hsd-vs-card">
    <code data-family=${palette.family(token.source)}>${glyphs(token.text)}</code>: ${how}. Reached
    after <strong>${plural(spent.passes, "target pass")}, ${duration(spent.ns)}</strong>.
    <span class="hsd-note">p ${figure(token.p)}</span>
  </p>`;
}

/** The texts of runs with their cursor. */
export class Texts {
  readonly root = make("section", "hsd-vs-texts hsd-stream", "", { "aria-label": "Texts" });
  private readonly columns: Column[];
  /** Last output position of the longest text. */
  private readonly last: number;
  private readonly cursor: Cursor;
  private marked: HTMLElement[] = [];

  /** `moved(at)` is called with the pinned position; -1: none. */
  constructor(
    runs: readonly Runner[],
    private readonly palette: Palette,
    private readonly moved: (pinned: number) => void,
  ) {
    this.columns = runs.map((run) => columnOf(run, palette));
    this.last = Math.max(...runs.map(({ store }) => store.tokens.length)) - 1;
    this.cursor = { at: -1, row: runs.length - 1, isPinned: false };
    for (const [row, { out }] of this.columns.entries()) {
      out.addEventListener("pointerover", (event) => this.onPointer(event, row));
      out.addEventListener("click", (event) => this.onClick(event, row));
    }
    this.paint();
  }

  private onPointer(event: PointerEvent, row: number) {
    const at = this.columns[row].pane.tokenAt(event);
    if (at >= 0 && !this.cursor.isPinned && event.pointerType === "mouse") this.move(at, row);
  }

  private onClick(event: MouseEvent, row: number) {
    const at = this.columns[row].pane.tokenAt(event);
    if (at < 0) return;
    const { cursor } = this;
    const isHere = cursor.isPinned && cursor.at === at && cursor.row === row;
    this.move(at, row, !isHere);
  }

  move(at: number, row = this.cursor.row, isPinned = this.cursor.isPinned) {
    const { cursor } = this;
    cursor.at = Math.min(at, this.last);
    cursor.row = row;
    cursor.isPinned = isPinned && at >= 0;
    this.paint();
    this.moved(cursor.isPinned ? cursor.at : -1);
  }

  /** Dim the tokens that are emitted after a time in nanoseconds. */
  showAt(ns: number) {
    for (const { run, pane } of this.columns) pane.dim(shownAt(run.stairs, ns));
  }

  keys() {
    const { at, row } = this.cursor;
    const here = Math.max(0, at);
    const lastRow = this.columns.length - 1;
    return {
      ArrowRight: () => this.move(Math.max(0, at + 1)),
      ArrowLeft: () => this.move(Math.max(0, at - 1)),
      ArrowDown: () => this.move(here, Math.min(lastRow, row + 1)),
      ArrowUp: () => this.move(here, Math.max(0, row - 1)),
      Home: () => this.move(0),
      End: () => this.move(this.last),
      Enter: () => this.move(here, row, true),
      Escape: () => this.move(-1, row, false),
    };
  }

  /** Mark the token at the cursor in a column, and the other tokens of its round. */
  private mark({ run, pane, out }: Column) {
    const { at, isPinned } = this.cursor;
    const tread = run.stairs.treads.find(({ low, high }) => low <= at && at < high);
    for (const [k, span] of pane.spans.slice(tread?.low ?? 0, tread?.high ?? 0).entries()) {
      const isHere = k + (tread?.low ?? 0) === at;
      const ownClass = isPinned ? "hsd-pinned" : "hsd-on";
      span.classList.add(isHere ? ownClass : "hsd-mate");
      this.marked.push(span);
    }
    const here = pane.spans[at];
    here?.setAttribute("aria-selected", "true");
    out.setAttribute("aria-activedescendant", here?.id ?? "");
  }

  private paint() {
    for (const node of this.marked) {
      node.classList.remove("hsd-on", "hsd-pinned", "hsd-mate");
      node.setAttribute("aria-selected", "false");
    }
    this.marked = [];
    for (const column of this.columns) this.mark(column);
    const { isPinned } = this.cursor;
    const at = this.cursor.at < 0 ? this.last : this.cursor.at;
    render(
      html`<h3>Texts</h3>
        <p class="hsd-note">
          Output position ${at + 1} of ${this.last + 1}${isPinned ? ", pinned" : ""}.
        </p>
        <div class="hsd-vs-columns" .style=${`--runs: ${this.columns.length}`}>
          ${this.columns.map((column, row) => this.columnTemplate(column, row, at))}
        </div>`,
      this.root,
    );
  }

  private columnTemplate({ run, text }: Column, row: number, at: number) {
    const isActive = row === this.cursor.row;
    return html`<div class=${isActive ? "hsd-vs-column hsd-vs-active" : "hsd-vs-column"}>
      <h4>${letterTemplate(run, this.palette)} ${run.title}</h4>
      ${text}${cardTemplate(run, this.palette, at)}
    </div>`;
  }
}
