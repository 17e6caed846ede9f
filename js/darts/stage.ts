// The stage of a dart board: throws darts at it, and shows what they make.
import { html, nothing, render } from "lit-html";
import { menu } from "../lib/fields";
import { numbers, throwFor } from "./board";
import { boardPicture, type Drawn, isPiled, type Thrown } from "./picture";
import { type DartSays, ENGLISH } from "./says";
import { boardWords, outcomeWords, valuesTable } from "./words";

const MANY = 1000;
/** Frames of the screen in which darts are thrown one after the other. */
const FRAMES = 60;
/** The width of the picture at least, and where its host has none yet. */
const LEAST = 240;
const USUAL = 480;
/** The width from which the key is beside the picture, and that of the key with its gap. */
const BESIDE = { from: 760, key: 264 };

export interface Shown extends Drawn {
  /** Changes with the position: darts of another board are taken away. */
  key: string;
  title: string;
}

/** The key to the colours of the board. */
function keyTemplate(
  { board, families, recorded }: Shown,
  darts: readonly Thrown[],
  says: DartSays,
) {
  // Its sample has the colour of what is accepted here.
  const accepted = families[board.columns.findIndex((column) => column.accepted > 0)];
  const isRatio = board.rule === "ratio";
  const surplus = html`<span><i class="hsd-dt-k3"></i>${says.key_surplus}</span>`;
  const shares = html`<span><i class="hsd-dt-k5"></i>${says.key_share}</span
    ><span><i class="hsd-dt-k7"></i>${says.key_noise}</span
    ><span><i class="hsd-dt-k6"></i>${says.key_off}</span>`;
  const given = html`<span><i class="hsd-dt-k4"></i>${says.key_recorded}</span>`;
  return html`<p class="hsd-dt-key" aria-hidden="true">
    ${recorded ? given : nothing}<span data-family=${accepted ?? nothing}
      ><i class="hsd-dt-k1"></i><span>${isRatio ? says.key_accepted : says.key_drawn}</span></span
    ><span><i class="hsd-dt-k2"></i>${isRatio ? says.key_residual : says.key_other}</span>${
      isRatio ? surplus : nothing
    }${isPiled(darts) ? shares : nothing}
  </p>`;
}

/** Darts thrown at the board that is shown. */
class Darts {
  private shown: Shown | null = null;
  private darts: Thrown[] = [];
  /** Whether a rejected token is replaced by a draw from p, rather than from the residual. */
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

  show(shown: Shown | null) {
    cancelAnimationFrame(this.frame);
    if (shown?.key !== this.shown?.key) this.darts = [];
    this.shown = shown;
    this.paint();
  }

  /** Show the board in another language. */
  speak(says: DartSays) {
    this.says = says;
    this.paint();
  }

  /** Throw darts within some frames; at once where motion is reduced. */
  pour(count: number) {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.throwBy(count, isStill ? count : Math.ceil(count / FRAMES));
  }

  /** Throw darts, some of them in each frame. */
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

  /** The buttons, and what the darts have made. */
  private form(shown: Shown) {
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

/** A stage in `host`; `show` draws a board on it, or hides it. */
export const createDarts = (host: HTMLElement, seed = 1) => new Darts(host, seed);
