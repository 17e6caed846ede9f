// The stage of a dart board: throws darts and shows their distribution.
import { html, nothing, render, type TemplateResult } from "lit-html";
import { numbers, throwFor } from "./board";
import { type BoardPicture, boardPicture, type Flight, isPiled, type ThrownDart } from "./picture";
import { type DartStrings, ENGLISH } from "./strings";
import { boardText, lastText, outcomeText, valuesTable } from "./words";

const MANY = 1000;
/** Number of animation frames over which many darts are thrown. */
const FRAMES = 60;
/** Milliseconds of a single dart: on its proposal, and on its way to its end, as in style.css. */
const SLOW = { proposal: 350, flight: 450 };
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
  /** No rule is shown and nothing is thrown before the visitor has done what the controls ask. */
  isWaiting?: boolean;
  /** Controls of the board, below its picture. */
  controls?: TemplateResult;
  /** The q of the board where it changes: the same number of darts is thrown at the new one. */
  q?: number;
}

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The key of the board's colours. */
function keyTemplate(
  { board, families, recorded }: StageState,
  darts: readonly ThrownDart[],
  strings: DartStrings,
) {
  // The swatch has the colour of the accepted part on this board.
  const accepted = families[board.columns.findIndex((column) => column.accepted > 0)];
  const isRatio = board.rule === "ratio";
  const entry = (kind: string, words: string) =>
    html`<span><i class=${`hsd-dt-${kind}`}></i>${words}</span>`;
  const shares = [
    entry("k5", strings.key_share),
    entry("k7", strings.key_noise),
    entry("k6", strings.key_off),
  ];
  return html`<p class="hsd-dt-key" aria-hidden="true">
    ${recorded ? entry("k4", strings.key_recorded) : nothing}<span
      data-family=${accepted ?? nothing}
      ><i class="hsd-dt-k1"></i>${isRatio ? strings.key_accepted : strings.key_drawn}</span
    >${entry("k2", isRatio ? strings.key_residual : strings.key_other)}${
      isRatio ? entry("k3", strings.key_surplus) : nothing
    }${darts.some(({ fate }) => fate === "wrong") ? entry("k8", strings.key_wrong) : nothing}${
      isPiled(darts) ? shares : nothing
    }
  </p>`;
}

/** A board with the darts thrown at it. */
class Darts {
  private shown: StageState | null = null;
  private darts: ThrownDart[] = [];
  /** The single dart on its way; null: there is none. */
  private flight: Flight | null = null;
  /** Whether they follow the broken rule. */
  private isBroken = false;
  private frame = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private strings: DartStrings = ENGLISH;
  private readonly next: () => number;

  constructor(
    private readonly host: HTMLElement,
    seed: number,
  ) {
    this.next = numbers(seed);
  }

  show(shown: StageState | null) {
    const before = this.shown;
    this.shown = shown;
    // The same board at another size keeps its darts, and those that are on their way.
    if (shown?.key !== before?.key) {
      this.isBroken = false;
      this.clear();
    } else if (shown?.q !== before?.q && this.darts.length) {
      const count = this.darts.length;
      this.clear();
      this.throwMany(count);
    } else this.paint();
  }

  /** Set the language of the board. */
  setStrings(strings: DartStrings) {
    this.strings = strings;
    this.paint();
  }

  /**
   * Throw single darts one after another: each falls on its proposal, and if that is rejected, it
   * moves to the token that is drawn instead. At once where motion is reduced.
   */
  throwSlowly(count: number) {
    this.land();
    if (isStill()) return this.throwMany(count);
    if (!count || !this.shown) return;
    this.flight = { dart: this.thrown(this.shown), isJudged: false };
    this.paint();
    this.timer = setTimeout(() => this.judge(count), SLOW.proposal);
  }

  private judge(count: number) {
    if (this.flight) this.flight.isJudged = true;
    this.paint();
    this.timer = setTimeout(() => this.throwSlowly(count - 1), SLOW.flight);
  }

  /** End the way of the single dart. */
  private land() {
    clearTimeout(this.timer);
    if (this.flight) this.darts.push(this.flight.dart);
    this.flight = null;
    this.paint();
  }

  private thrown({ board }: StageState): ThrownDart {
    return { ...throwFor(board, this.isBroken, this.next), x: this.next() };
  }

  /** Throw darts within some frames; at once where motion is reduced. */
  private pour(count: number) {
    this.land();
    this.throwBy(count, isStill() ? count : Math.ceil(count / FRAMES));
  }

  /** Throw `count` darts, `each` of them per frame. */
  private throwBy(count: number, each: number) {
    this.throwMany(Math.min(count, each));
    if (count > each) this.frame = requestAnimationFrame(() => this.throwBy(count - each, each));
  }

  private throwMany(count: number) {
    if (!this.shown) return;
    for (let k = 0; k < count; k++) this.darts.push(this.thrown(this.shown));
    this.paint();
  }

  private clear() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.flight = null;
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
    const hasRule = shown.board.left !== null && !shown.isWaiting;
    render(
      html`<div class="hsd-dt" role="group" aria-label=${strings.label}>
        <h4>${shown.title}</h4>
        ${
          shown.isBrief
            ? nothing
            : html`<p class="hsd-dt-words" role="status">${boardText(shown, strings)}</p>`
        }
        ${hasRule ? this.rule(shown) : nothing}
        <div class=${isBeside ? "hsd-dt-beside" : nothing}>
          ${boardPicture(shown, width, darts, strings.probability, this.flight)}
          ${isBeside ? key : nothing}
        </div>
        ${hasRule ? this.form(shown) : nothing} ${shown.controls ?? nothing}
        ${isBeside ? nothing : key}
        ${valuesTable(shown, strings)}
      </div>`,
      host,
    );
  }

  /** The rule of the darts. */
  private rule({ board }: StageState) {
    const { isBroken, strings } = this;
    const broken = board.fault === "keep" ? strings.broken_keep : strings.broken_resample;
    const right = board.rule === "walk" ? strings.rule_walk : strings.rule_ratio;
    return html`<p class="hsd-dt-words" role="status">${isBroken ? broken : right}</p>`;
  }

  /** The buttons, the next one first, and what the darts have made. */
  private form(shown: StageState) {
    const { darts, flight, isBroken, strings } = this;
    const hasPile = isPiled(darts);
    const last = flight?.isJudged ? flight.dart : darts.at(-1);
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
        <button @click=${() => this.throwSlowly(1)}>${strings.throw_one}</button>
        <button ?disabled=${!darts.length} @click=${() => this.clear()}>${strings.clear}</button>
      </div>
      <div class="hsd-dt-outcome" role="status">
        ${
          hasPile
            ? outcomeText(shown, darts, isBroken, strings)
            : html`<p class="hsd-dt-words">${last ? lastText(shown, last, strings) : nothing}</p>`
        }
      </div>`;
  }
}

/** Create a stage in `host`. Its `show` draws a board, or hides the stage. */
export const createDarts = (host: HTMLElement, seed = 1) => new Darts(host, seed);
