// The base class of the elements: a shadow root with the styles of the views, the theme, loading
// the runs of `src`, and errors as a card.
import css from "hsd-viz:elements-style";
import { make } from "../lib/dom";
import { drawNotice } from "../lib/notice";
import type { Snapshot } from "../lib/run_data";
import type { Sources } from "../lib/stack";
import FACTS from "./facts.json";
import { fetchRun } from "./file";

export const { palette: PALETTE } = FACTS;
export const SOURCES: Sources = FACTS.sources;

/** A constructed style sheet, which works on pages whose policy forbids inline styles. */
let sheet: CSSStyleSheet | null = null;
function styles() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}

/**
 * An element that draws into its shadow root. `open` draws and returns a cleanup function; it is
 * called again when an attribute or a property changes. Events: `hsd-load` with facts of the shown
 * run, `hsd-error` with a message.
 */
export abstract class HsdElement extends HTMLElement {
  static observedAttributes: string[] = [];
  private end: (() => void) | undefined;
  private place: HTMLElement | undefined;
  /** Number of the current drawing. Data loaded for an earlier one is dropped. */
  private turn = 0;
  private waiting = false;

  protected abstract open(
    place: HTMLElement,
  ): Promise<(() => void) | undefined> | (() => void) | undefined;

  connectedCallback() {
    if (!this.shadowRoot) {
      const shadow = this.attachShadow({ mode: "open" });
      shadow.adoptedStyleSheets = [styles()];
      this.place = make("div", "hsd-element");
      shadow.append(this.place);
    }
    this.renew();
  }

  disconnectedCallback() {
    this.turn += 1;
    this.close();
  }

  attributeChangedCallback(_name: string, before: string | null, now: string | null) {
    if (before !== now) this.renew();
  }

  /** Draw again, once for all changes that a script makes together. */
  protected renew() {
    if (this.waiting || !this.isConnected) return;
    this.waiting = true;
    queueMicrotask(() => {
      this.waiting = false;
      if (this.isConnected) void this.redraw();
    });
  }

  private async redraw() {
    const { place } = this;
    if (!place) return;
    this.turn += 1;
    const { turn } = this;
    try {
      this.close();
      const end = await this.open(place);
      if (turn === this.turn) this.end = end;
      else end?.();
    } catch (error) {
      if (turn === this.turn) this.fail(error);
    }
  }

  private close() {
    this.end?.();
    this.end = undefined;
    this.place?.replaceChildren();
  }

  private fail(error: unknown) {
    const message = error instanceof Error ? error.message : String(error);
    const card = make("div");
    drawNotice(card, { message });
    this.place?.replaceChildren(card);
    this.report("hsd-error", { message });
  }

  protected report(name: string, detail: object) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /** Load the runs of the files that an attribute names, separated by blanks. */
  protected async runsOf(attribute: string): Promise<Snapshot[]> {
    const names = (this.getAttribute(attribute) ?? "").split(/\s+/).filter(Boolean);
    return Promise.all(names.map((name) => fetchRun(name, SOURCES)));
  }
}

/** Return the facts of a run for the event `hsd-load`. */
export function factsOf(run: Snapshot) {
  const { wall_ns, prefill_ns, stack } = run.meta;
  const milliseconds = wall_ns === null ? null : (wall_ns - (prefill_ns ?? 0)) / 1e6;
  const isTarget = run.rounds.parent.filter((parent) => parent === null);
  return { stack, tokens: run.tokens.token_id.length, rounds: isTarget.length, milliseconds };
}
