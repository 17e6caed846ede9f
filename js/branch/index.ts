// The branches of a run: the tokens at the fork, both continuations, and their staircases from the
// common root.
import { html, nothing, render, svg } from "lit-html";
import { axisX, axisY, frameOf, onResize, spread } from "../lib/chart";
import { followTheme, make } from "../lib/dom";
import { type Palette, type PaletteData, paletteOf } from "../lib/palette";
import { type Store, storeOf } from "../lib/run";
import type { Token } from "../lib/tables";
import { cut, duration, figure, glyphs } from "../lib/words";
import { drawStairs } from "../staircase/drawing";
import { stairsOf } from "../staircase/stairs";
import { spentAt } from "../versus/race_time";
import { type Branch, likelihoodOf } from "./fork";

export interface BranchProps {
  palette: PaletteData;
  /** Branches, the root first. */
  branches: readonly Branch[];
  shown: number;
  choose(k: number): void;
}
const SIZE = { height: 150, left: 40, right: 150, top: 24, bottom: 24 };
/** Minimum width of the picture, and the width on a page without layout. */
const WIDTH = { least: 260, usual: 640 };
/** Maximum lengths in characters: of a continuation, and of the text before the fork. */
const TEXT = 150;
const LEAD = 60;

const textOf = (tokens: readonly { text: string }[]) => tokens.map(({ text }) => text).join("");
/** The staircases of a run and of its branch at a token, from their common root. */
function picture(parent: Store, at: number, branch: Store, palette: Palette, room: number) {
  const before = stairsOf(parent);
  const after = stairsOf(branch);
  const zero = spentAt(before, at - 1)?.ns ?? 0;
  const low = at + 1;
  const width = Math.max(WIDTH.least, room);
  const last = Math.max(before.end, zero + after.end);
  const f = frameOf({ ...SIZE, width }, last, Math.max(before.tokens, low + after.tokens));
  const shifted = { x: (ns: number) => f.x(zero + ns), y: (tokens: number) => f.y(low + tokens) };
  const ends = spread(
    [
      { x: f.x(before.end) + 8, y: f.y(before.tokens) + 4, words: "as it was" },
      { x: f.x(zero + after.end) + 8, y: f.y(low + after.tokens) + 4, words: "branch" },
    ],
    15,
    120,
  );
  return svg`<svg class="hsd-stairs" width=${width} height=${SIZE.height}
    viewBox="0 0 ${width} ${SIZE.height}" aria-hidden="true">
    ${axisY(f, 3, String, "tokens")}${axisX(f, width / 150, duration, "time")}
    <g opacity=".5">${drawStairs(before, parent.tokens, palette.family, f)}</g>
    ${drawStairs(after, branch.tokens, palette.family, shifted)}
    <line class="hsd-vs-now" x1=${f.x(zero)} x2=${f.x(zero)} y1=${f.top} y2=${f.foot}></line>
    ${ends.map(({ x, y, words }) => svg`<text x=${x} y=${y}>${words}</text>`)}</svg>`;
}

/** A continuation: its first token with its probability, and the text after it. */
function continuation(first: string, p: number | null, tokens: readonly Token[]) {
  return html`<p>
    <mark>${glyphs(first)}</mark><span class="hsd-number"> p ${figure(p)}</span>
    <span class="hsd-br-text">${cut(textOf(tokens), TEXT)}</span>
    <span class="hsd-note">mean p ${figure(likelihoodOf(tokens))}</span>
  </p>`;
}

function branchButton({ parent, p }: Branch, isShown: boolean, choose: () => void) {
  const name = parent ? `“${glyphs(parent.text)}” at token ${parent.token + 1}` : "Root";
  const chance = p === null ? nothing : html` <span class="hsd-note">p ${figure(p)}</span>`;
  return html`<button type="button" aria-pressed=${isShown} @click=${choose}>
    ${name}${chance}
  </button>`;
}

/** The view of branches in an element. */
class Branches {
  private readonly root = make("section", "hsd-linked hsd-branches", "", {
    "aria-label": "Branches",
  });
  private readonly plot = make("div");
  private readonly palette: Palette;
  private readonly cleanups: (() => void)[];

  constructor(
    el: HTMLElement,
    private props: BranchProps,
  ) {
    this.palette = paletteOf(props.palette);
    this.palette.paint(this.root);
    el.append(this.root);
    this.cleanups = [followTheme(this.root, "--backdrop"), onResize(this.root, () => this.paint())];
    this.paint();
  }

  /** Draw branches if they have changed. */
  show(next: Pick<BranchProps, "branches" | "shown">) {
    if (next.branches === this.props.branches && next.shown === this.props.shown) return;
    this.props = { ...this.props, ...next };
    this.paint();
  }

  close() {
    for (const clean of this.cleanups) clean();
    this.root.remove();
  }

  private paint() {
    const { root } = this;
    const { branches, shown, choose } = this.props;
    root.hidden = branches.length < 2;
    if (root.hidden) return render(nothing, root);
    const button = (branch: Branch, k: number) =>
      branchButton(branch, k === shown, () => choose(k));
    render(
      html`<div class="hsd-br-list" role="group" aria-label="Branches of this run">
          ${branches.map(button)}
        </div>
        ${branches[shown] ? this.comparison(branches[shown]) : nothing}`,
      root,
    );
  }

  /** A branch compared with the run that it continues. */
  private comparison({ parent, p, run }: Branch) {
    const { plot, palette, props } = this;
    const origin = props.branches.find((branch) => branch.run.run === parent?.run);
    if (!parent || !origin) return nothing;
    const before = storeOf(origin.run);
    const after = storeOf(run);
    const fork = before.tokens[parent.token];
    const continuationTokens = before.tokens.slice(parent.token + 1);
    const room = plot.clientWidth || WIDTH.usual;
    render(picture(before, parent.token, after, palette, room), plot);
    const lead = textOf(before.tokens.slice(0, parent.token)).slice(-LEAD);
    return html`<p class="hsd-note">… ${lead}</p>
      ${continuation(fork?.text ?? "", fork?.p ?? null, continuationTokens)}${continuation(
        parent.text,
        p,
        after.tokens,
      )}${plot}
      <p class="hsd-note">
        The two runs were not timed together: the load of the machine may differ.
      </p>`;
  }
}

/** Draw branches into an element. */
export const openBranches = (el: HTMLElement, props: BranchProps) => new Branches(el, props);
