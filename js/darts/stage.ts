// The stage of a dart board: throws darts and shows their distribution.
import { html, nothing, render } from "lit-html";
import { menu } from "../lib/fields";
import { numbers, throwFor } from "./board";
import { type BoardPicture, boardPicture, isPiled, type ThrownDart } from "./picture";
import { type DartSays, ENGLISH } from "./says";
import { boardWords, outcomeWords, valuesTable } from "./words";

const MANY = 1000;
/** Number of animation frames over which many darts are thrown. */
const FRAMES = 60;
/** Minimum width of the picture, and its width before the host has a layout, in pixels. */
const LEAST = 240;
const USUAL = 480;
/** Width from which the key is beside the picture, and the width of the key with its gap. */
const BESIDE = { from: 760, key: 264 };

export interface StageState extends BoardPicture {
  /** Identifies the position; another key removes the darts. */
  key: string;
  title: string;
}

/** The key of the board's colours. */
function keyTemplate(
  { board, families, recorded }: StageState,
  darts: readonly ThrownDart[],
  says: DartSays,
) {
  // The swatch has the colour of the accepted part on this board.
  const accepted = families[board.columns.findIndex((column) => column.accepted > 0)];
  const isRatio = board.rule === "ratio";
  const surplus = html`<span><i class="hsd-dt-k3"></i>${says.key_surplus}</span>`;
  const shares = html`<span><i class="hsd-dt-k5"></i>${says.key_share}</span
    ><span><i class="hsd-dt-k7"></i>${says.key_noise}</span
    ><span><i class="hsd-dt-k6"></i>${says.key_off}</span>`;
  const recordedEntry = html`<span><i class="hsd-dt-k4"></i>${says.key_recorded}</span>`;
  return html`<p class="hsd-dt-key" aria-hidden="true">
    ${recorded ? recordedEntry : nothing}<span data-family=${accepted ?? nothing}
      ><i class="hsd-dt-k1"></i><span>${isRatio ? says.key_accepted : says.key_drawn}</span></span
    ><span><i class="hsd-dt-k2"></i>${isRatio ? says.key_residual : says.key_other}</span>${
      isRatio ? surplus : nothing
    }${isPiled(darts) ? shares : nothing}
  </p>`;
}

/** A board with the darts thrown at it. */
class Darts {
  private shown: StageState | null = null;
  private darts: ThrownDart[] = [];
  /** Whether a rejected token is replaced by a draw from p instead of the residual. */
  private isLossy = false;
  private frame = 0;
  private says: DartSays = ENGLISH;
  private readonly next: () => number;

  constructor(
    private readonly host: HTMLElement,
    seed: number,
  ) {
    this.next = numbers(seed);
  }

  show(shown: StageState | null) {
    cancelAnimationFrame(this.frame);
    if (shown?.key !== this.shown?.key) this.darts = [];
    this.shown = shown;
    this.paint();
  }

  /** Set the language of the board. */
  speak(says: DartSays) {
    this.says = says;
    this.paint();
  }

  /** Throw darts over some frames, or at once if reduced motion is preferred. */
  pour(count: number) {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.throwBy(count, isStill ? count : Math.ceil(count / FRAMES));
  }

  /** Throw `count` darts, `each` of them per frame. */
  private throwBy(count: number, each: number) {
    this.throwMany(Math.min(count, each));
    if (count > each) this.frame = requestAnimationFrame(() => this.throwBy(count - each, each));
  }

  private throwMany(count: number) {
    if (!this.shown) return;
    for (let k = 0; k < count; k++) {
      const thrown = throwFor(this.shown.board, this.isLossy, this.next);
      const last = thrown.length - 1;
      for (const [place, dart] of thrown.entries())
        this.darts.push({ ...dart, x: this.next(), counts: place === last });
    }
    this.paint();
  }

  private clear() {
    cancelAnimationFrame(this.frame);
    this.darts = [];
    this.paint();
  }

  private setRule(rule: string) {
    this.isLossy = rule === "p";
    this.clear();
  }

  private paint() {
    const { host, shown, darts, says } = this;
    if (!shown) return render(nothing, host);
    const room = Math.max(LEAST, host.clientWidth || USUAL);
    const isBeside = room >= BESIDE.from;
    const width = isBeside ? room - BESIDE.key : room;
    const key = keyTemplate(shown, darts, says);
    render(
      html`<div class="hsd-dt" role="group" aria-label=${says.label}>
        <h4>${shown.title}</h4>
        <p class="hsd-dt-words" role="status">${boardWords(shown, darts, says)}</p>
        <div class=${isBeside ? "hsd-dt-beside" : nothing}>
          ${boardPicture(shown, width, darts, says.probability)} ${isBeside ? key : nothing}
        </div>
        ${shown.board.left === null ? nothing : this.form(shown)} ${isBeside ? nothing : key}
        ${valuesTable(shown, says)}
      </div>`,
      host,
    );
  }

  /** The buttons, and the description of the darts. */
  private form(shown: StageState) {
    const { darts, isLossy, says } = this;
    const rules = [
      ["residual", says.from_residual],
      ["p", says.from_p],
    ];
    const rule = menu(rules, isLossy ? "p" : "residual", (value) => this.setRule(value));
    return html`<div class="hsd-dt-form">
        <button @click=${() => this.throwMany(1)}>${says.throw_one}</button>
        <button @click=${() => this.throwMany(MANY)}>${says.throw_many}</button>
        <button ?disabled=${!darts.length} @click=${() => this.clear()}>${says.clear}</button>
        <label>${says.correction} ${rule}</label>
      </div>
      ${outcomeWords(shown, darts, isLossy, says)}`;
  }
}

/** Create a stage in `host`. Its `show` draws a board, or hides the stage. */
export const createDarts = (host: HTMLElement, seed = 1) => new Darts(host, seed);
