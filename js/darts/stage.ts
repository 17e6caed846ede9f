// The stage of a dart board: throws darts and shows their distribution.
import { html, nothing, render, type TemplateResult } from "lit-html";
import { type Dart, judged, numbers, proposedOf, sampleOf, throwFor } from "./board";
import { boardPicture, type Flight, isPiled, type ThrownDart } from "./picture";
import type { BoardPicture } from "./scale";
import { type DartStrings, ENGLISH } from "./strings";
import { boardText, lastText, outcomeText, sampleText, valuesTable } from "./words";

const MANY = 1000;
/** Number of animation frames over which many darts are thrown. */
const FRAMES = 60;
/** Milliseconds of a dart: on its proposal, and on its way to its end, as in style.css. */
const SLOW = { proposal: 350, flight: 450 };
/** Darts of the sample, and the part of the width by which each is beside the one before it. */
const SAMPLE = { darts: 100, step: (Math.sqrt(5) - 1) / 2 };
/** Minimum width of the picture, and its width before the host has a layout, in pixels. */
const MIN_WIDTH = 240;
const USUAL = 480;

export interface StageState extends BoardPicture {
  /** Identifies the position; another key removes the darts. */
  key: string;
  title?: string;
  /** A question that the darts answer: what leads to it, and the answer once they are thrown. */
  question?: { lead: string; answer: string };
  /** Nothing is thrown before the visitor has answered; a sample of proposals is shown. */
  isWaiting?: boolean;
  /** Controls of the board: those of the answer, then those beside the names of the parts. */
  controls?: TemplateResult;
  /** The q of the board where it changes: the same number of darts is thrown at the new one. */
  q?: number;
}

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The key of what has no name on the board. */
function keyTemplate({ recorded }: StageState, darts: readonly ThrownDart[], strings: DartStrings) {
  const entry = (mark: string, words: string, kind = "") =>
    html`<span><b class=${kind}>${mark}</b> ${words}</span>`;
  const isWrong = darts.some(({ fate }) => fate === "wrong");
  return html`<p class="hsd-dt-key" aria-hidden="true">
    ${recorded ? entry("○", strings.key_recorded) : nothing}
    ${isWrong ? entry("●", strings.key_wrong, "hsd-dt-outside") : nothing}
    ${isPiled(darts) ? [entry("━", strings.key_share), entry("]", strings.key_noise)] : nothing}
  </p>`;
}

/** A board with the darts thrown at it. */
class Darts {
  private shown: StageState | null = null;
  private darts: ThrownDart[] = [];
  /** The darts on their way; null: there are none. */
  private flight: Flight | null = null;
  /** Whether they follow the broken rule. */
  private isBroken = false;
  /** Whether the parts of a question's board have their names. */
  private isNamed = false;
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
      this.isNamed = false;
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
   * Throw a dart that is seen to fall, on a board without a pile: on its proposal, and if that is
   * rejected, it moves to the token that is drawn instead. At once where motion is reduced.
   */
  private throwSlowly() {
    if (!this.shown) return;
    this.land();
    if (isPiled(this.darts)) this.clear();
    if (isStill()) return this.throwMany(1);
    this.fly([this.thrown(this.shown)], () => this.land());
  }

  /** Answer the question: the rejected darts of the sample draw their words, then many follow. */
  answer() {
    if (!this.shown) return;
    if (isStill()) return this.pour(MANY);
    const { board } = this.shown;
    const fly = ({ x, first }: ThrownDart) => ({ ...judged(board, first, false, this.next), x });
    this.fly(this.sample().map(fly), () => {
      this.flight = null;
      this.pour(MANY);
    });
  }

  /** The sample of proposals. */
  private sample(): ThrownDart[] {
    if (!this.shown) return [];
    const across = (dart: Dart, k: number) => ({ ...dart, x: (k * SAMPLE.step) % 1 });
    return sampleOf(this.shown.board, SAMPLE.darts).map(across);
  }

  /** Show darts on their proposals, then on the way to their ends. */
  private fly(darts: ThrownDart[], then: () => void) {
    this.flight = { darts, isJudged: false };
    this.paint();
    this.timer = setTimeout(() => {
      this.flight = { darts, isJudged: true };
      this.paint();
      this.timer = setTimeout(then, SLOW.flight);
    }, SLOW.proposal);
  }

  /** End the way of the darts. */
  private land() {
    clearTimeout(this.timer);
    if (this.flight) this.darts.push(...this.flight.darts);
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

  /** Name the parts of the board, or remove their names. */
  private name() {
    this.isNamed = !this.isNamed;
    this.paint();
  }

  private paint() {
    const { host, shown, strings } = this;
    if (!shown) return render(nothing, host);
    const { board, question, isWaiting } = shown;
    const width = Math.max(MIN_WIDTH, host.clientWidth || USUAL);
    const isNamed = !question || this.isNamed;
    const sample = isWaiting ? this.sample() : [];
    const darts = isWaiting ? sample : this.darts;
    const caption = isWaiting ? sampleText(sample, strings) : this.caption(shown, isNamed);
    const { flight } = this;
    const parts = isNamed ? strings : null;
    render(
      html`<div class="hsd-dt" role="group" aria-label=${strings.label}>
        ${shown.title ? html`<h4>${shown.title}</h4>` : nothing}
        <div class="hsd-dt-outcome" role="status">${this.words(shown, isNamed)}</div>
        ${boardPicture(shown, { width, darts, flight, caption, parts })}
        ${board.left === null || isWaiting ? nothing : this.form(shown, isNamed)}
        ${isWaiting || isNamed ? shown.controls : nothing}
        ${keyTemplate(shown, this.darts, strings)}
        ${isNamed ? valuesTable(shown, strings) : nothing}
      </div>`,
      host,
    );
  }

  /** The line above the board, if its first token was proposed with certainty. */
  private caption({ board }: StageState, isNamed: boolean) {
    const [first] = board.columns;
    const isCertain = isNamed && first.drafted && proposedOf(board, first) === 1;
    return isCertain ? this.strings.certain : nothing;
  }

  /** What the darts have made, the last dart, or the parts of the board. */
  private words(shown: StageState, isNamed: boolean) {
    const { darts, flight, isBroken, strings } = this;
    const { question } = shown;
    if (isPiled(darts)) return outcomeText(shown, darts, isBroken, strings, question?.answer);
    const last = flight?.isJudged ? flight.darts[0] : darts.at(-1);
    if (isNamed && last) return html`<p class="hsd-dt-words">${lastText(shown, last, strings)}</p>`;
    return html`<p class="hsd-dt-words">${question?.lead ?? boardText(shown, strings)}</p>`;
  }

  /** The rule of the darts. */
  private rule({ board }: StageState) {
    const { isBroken, strings } = this;
    if (isBroken) return board.fault === "keep" ? strings.broken_keep : strings.broken_resample;
    return board.rule === "walk" ? strings.rule_walk : strings.rule_ratio;
  }

  /** The buttons, the next one filled, and the rule. */
  private form(shown: StageState, isNamed: boolean) {
    const { darts, isBroken, strings } = this;
    const hasPile = isPiled(darts);
    const names = html`<button aria-expanded=${isNamed} @click=${() => this.name()}>
      ${strings.names}
    </button>`;
    const single = html`<button @click=${() => this.throwSlowly()}>${strings.throw_one}</button>`;
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
        ${shown.question ? names : nothing} ${isNamed ? single : nothing}
      </div>
      ${
        isNamed || isBroken
          ? html`<p class="hsd-dt-words" role="status">${this.rule(shown)}</p>`
          : nothing
      }`;
  }
}

/** Create a stage in `host`. Its `show` draws a board, or hides the stage. */
export const createDarts = (host: HTMLElement, seed = 1) => new Darts(host, seed);
