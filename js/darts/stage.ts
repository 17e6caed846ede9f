// The stage of a dart board: throws darts and shows their distribution.
import { html, nothing, render } from "lit-html";
import { numbers, throwFor } from "./board";
import { type BoardPicture, boardPicture, isPiled, type ThrownDart } from "./picture";
import { type DartStrings, ENGLISH } from "./strings";
import { boardText, outcomeText, valuesTable } from "./words";

const MANY = 1000;
/** Number of animation frames over which many darts are thrown. */
const FRAMES = 60;
/** Minimum width of the picture, and its width before the host has a layout, in pixels. */
const MIN_WIDTH = 240;
const USUAL = 480;
/** Width from which the key is beside the picture, and the width of the key with its gap. */
const BESIDE = { from: 760, key: 264 };

export interface StageState extends BoardPicture {
  /** Identifies the position; another key removes the darts. */
  key: string;
  title: string;
  /** Its two parts, accepted and residual, are not explained. */
  isBrief?: boolean;
}

/** The key of the board's colours. */
function keyTemplate(
  { board, families, recorded }: StageState,
  darts: readonly ThrownDart[],
  strings: DartStrings,
) {
  // The swatch has the colour of the accepted part on this board.
  const accepted = families[board.columns.findIndex((column) => column.accepted > 0)];
  const isRatio = board.rule === "ratio";
  const surplus = html`<span><i class="hsd-dt-k3"></i>${strings.key_surplus}</span>`;
  const shares = html`<span><i class="hsd-dt-k5"></i>${strings.key_share}</span
    ><span><i class="hsd-dt-k7"></i>${strings.key_noise}</span
    ><span><i class="hsd-dt-k6"></i>${strings.key_off}</span>`;
  const missed = isRatio ? strings.key_redrawn : strings.key_replaced;
  const kept = isRatio ? strings.key_accepted : strings.key_drawn;
  const missedEntry = html`<span><i class="hsd-dt-k8"></i>${missed}</span>`;
  const recordedEntry = html`<span><i class="hsd-dt-k4"></i>${strings.key_recorded}</span>`;
  return html`<p class="hsd-dt-key" aria-hidden="true">
    ${recorded ? recordedEntry : nothing}<span data-family=${accepted ?? nothing}
      ><i class="hsd-dt-k1"></i><span>${kept}</span></span
    ><span><i class="hsd-dt-k2"></i>${isRatio ? strings.key_residual : strings.key_other}</span>${
      isRatio ? surplus : nothing
    }${darts.some(({ counts }) => !counts) ? missedEntry : nothing}${
      isPiled(darts) ? shares : nothing
    }
  </p>`;
}

/** A board with the darts thrown at it. */
class Darts {
  private shown: StageState | null = null;
  private darts: ThrownDart[] = [];
  /** Whether they follow the broken rule. */
  private isBroken = false;
  private frame = 0;
  private strings: DartStrings = ENGLISH;
  private readonly next: () => number;

  constructor(
    private readonly host: HTMLElement,
    seed: number,
  ) {
    this.next = numbers(seed);
  }

  show(shown: StageState | null) {
    // The same board at another size keeps its darts, and those that are on their way.
    if (shown?.key !== this.shown?.key) {
      cancelAnimationFrame(this.frame);
      this.darts = [];
      this.isBroken = false;
    }
    this.shown = shown;
    this.paint();
  }

  /** Set the language of the board. */
  setStrings(strings: DartStrings) {
    this.strings = strings;
    this.paint();
  }

  /** Throw darts within some frames; at once where motion is reduced. */
  private pour(count: number) {
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
      const thrown = throwFor(this.shown.board, this.isBroken, this.next);
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

  /** Change to the other rule, and throw darts by it. */
  private turn() {
    this.isBroken = !this.isBroken;
    this.clear();
    this.pour(MANY);
  }

  private paint() {
    const { host, shown, darts, strings } = this;
    if (!shown) return render(nothing, host);
    const room = Math.max(MIN_WIDTH, host.clientWidth || USUAL);
    const isBeside = room >= BESIDE.from;
    const width = isBeside ? room - BESIDE.key : room;
    const key = keyTemplate(shown, darts, strings);
    render(
      html`<div class="hsd-dt" role="group" aria-label=${strings.label}>
        <h4>${shown.title}</h4>
        ${
          shown.isBrief
            ? nothing
            : html`<p class="hsd-dt-words" role="status">${boardText(shown, darts, strings)}</p>`
        }
        <div class=${isBeside ? "hsd-dt-beside" : nothing}>
          ${boardPicture(shown, width, darts, strings.probability)} ${isBeside ? key : nothing}
        </div>
        ${shown.board.left === null ? nothing : [this.rule(shown), this.form(shown)]}
        ${isBeside ? nothing : key}
        ${valuesTable(shown, strings)}
      </div>`,
      host,
    );
  }

  /** The rule of the darts. */
  private rule({ board }: StageState) {
    const { isBroken, strings } = this;
    const isWalk = board.rule === "walk";
    const broken = isWalk ? strings.broken_walk : strings.broken_ratio;
    const right = isWalk ? strings.rule_walk : strings.rule_ratio;
    return html`<p class="hsd-dt-words" role="status">${isBroken ? broken : right}</p>`;
  }

  /** The buttons, the next one first, and what the darts have made. */
  private form(shown: StageState) {
    const { darts, isBroken, strings } = this;
    const hasPile = isPiled(darts);
    return html`<div class="hsd-dt-form">
        <button class=${hasPile ? nothing : "hsd-primary"} @click=${() => this.pour(MANY)}>
          ${strings.throw_many}
        </button>
        <button
          class=${hasPile ? "hsd-primary" : nothing}
          aria-pressed=${isBroken}
          @click=${() => this.turn()}
        >
          ${isBroken ? strings.mend : strings.break}
        </button>
        <button @click=${() => this.throwMany(1)}>${strings.throw_one}</button>
        <button ?disabled=${!darts.length} @click=${() => this.clear()}>${strings.clear}</button>
      </div>
      <div role="status">${outcomeText(shown, darts, isBroken, strings)}</div>`;
  }
}

/** Create a stage in `host`. Its `show` draws a board, or hides the stage. */
export const createDarts = (host: HTMLElement, seed = 1) => new Darts(host, seed);
