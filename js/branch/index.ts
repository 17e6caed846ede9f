// Branches of a run: what was chosen at the fork, both continuations, and their staircases from the
// common root.
import { html, nothing, render, svg } from "lit-html";
import { axisX, axisY, frameOf, onResize, spread } from "../lib/chart";
import { followTheme, make } from "../lib/dom";
import { type PaletteData, paletteOf } from "../lib/palette";
import { type Store, storeOf } from "../lib/run";
import { cut, duration, figure, glyphs } from "../lib/words";
import { drawStairs } from "../staircase/drawing";
import { stairsOf } from "../staircase/stairs";
import { spentAt } from "../versus/race";
import { type Branch, likelihoodOf } from "./fork";

export interface BranchProps {
  palette: PaletteData;
  /** Runs with a common root, which is the first. */
  branches: readonly Branch[];
  shown: number;
  choose(k: number): void;
}
const SIZE = { height: 150, left: 40, right: 150, top: 24, bottom: 24 };
const TEXT = 150;

const textOf = (tokens: readonly { text: string }[]) => tokens.map(({ text }) => text).join("");
const nameOf = ({ parent }: Branch) =>
  parent ? `“${glyphs(parent.text)}” at token ${parent.token + 1}` : "Root";

/**
 * Draw branches into an element. Returns a function that draws other ones, and one that ends it.
 */
export function openBranches(el: HTMLElement, first: BranchProps) {
  const root = make("section", "hsd-linked hsd-branches", "", { "aria-label": "Branches" });
  const plot = make("div");
  const palette = paletteOf(first.palette);
  palette.paint(root);
  el.append(root);
  let props = first;

  /** The staircases of a run and of the one that it continues, from their common root. */
  function picture(parent: Store, at: number, branch: Store) {
    const before = stairsOf(parent);
    const after = stairsOf(branch);
    const zero = spentAt(before, at - 1)?.ns ?? 0;
    const low = at + 1;
    const width = Math.max(260, plot.clientWidth || 640);
    const f = frameOf(
      { ...SIZE, width },
      Math.max(before.end, zero + after.end),
      Math.max(before.tokens, low + after.tokens),
    );
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
  function both({ parent, p, run }: Branch) {
    const origin = props.branches.find((one) => one.run.run === parent?.run);
    if (!parent || !origin) return nothing;
    const before = storeOf(origin.run);
    const after = storeOf(run);
    const own = before.tokens[parent.token];
    const rest = before.tokens.slice(parent.token + 1);
    render(picture(before, parent.token, after), plot);
    const line = (first: string, chance: number | null, tokens: typeof rest) =>
      html`<p>
        <mark>${glyphs(first)}</mark><span class="hsd-number"> p ${figure(chance)}</span>
        <span class="hsd-br-text">${cut(textOf(tokens), TEXT)}</span>
        <span class="hsd-note">mean p ${figure(likelihoodOf(tokens))}</span>
      </p>`;
    return html`<p class="hsd-note">… ${textOf(before.tokens.slice(0, parent.token)).slice(-60)}</p>
      ${line(own?.text ?? "", own?.p ?? null, rest)}${line(parent.text, p, after.tokens)}${plot}
      <p class="hsd-note">
        The two runs were not timed together: the load of the machine may differ.
      </p>`;
  }
  function paint() {
    const { branches, shown, choose } = props;
    root.hidden = branches.length < 2;
    if (root.hidden) return render(nothing, root);
    render(
      html`<div class="hsd-br-list" role="group" aria-label="Branches of this run">
          ${branches.map(
            (branch, k) =>
              html`<button type="button" aria-pressed=${k === shown} @click=${() => choose(k)}>
                ${nameOf(branch)}${
                  branch.p === null
                    ? nothing
                    : html` <span class="hsd-note">p ${figure(branch.p)}</span>`
                }
              </button>`,
          )}
        </div>
        ${branches[shown] ? both(branches[shown]) : nothing}`,
      root,
    );
  }
  const unfollow = followTheme(root, "--backdrop");
  const unwatch = onResize(root, paint);
  paint();
  return {
    show(next: Pick<BranchProps, "branches" | "shown">) {
      props = { ...props, ...next };
      paint();
    },
    close() {
      unfollow();
      unwatch();
      root.remove();
    },
  };
}
