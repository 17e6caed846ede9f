// <hsd-darts p="0.6 0.3 0.1" q="0.2 0.7 0.1" names="cat dog ox">: sampling with a draft as a dart
// board.
import { type Board, columnOf } from "../darts/board";
import { createDarts } from "../darts/stage";
import { onResize } from "../lib/chart";
import { followTheme, make } from "../lib/dom";
import { paletteOf } from "../lib/palette";
import { HsdElement, PALETTE } from "./base";

/** Allowed deviation of a sum of probabilities from 1, since they are written with few digits. */
const SLACK = 0.005;

/** Parse probabilities separated by blanks. Throws a one-line error if they are invalid. */
export function probabilitiesOf(name: string, text: string): number[] {
  const values = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(Number);
  const sum = values.reduce((total, value) => total + value, 0);
  if (!values.length || !values.every((value) => value >= 0) || !(Math.abs(sum - 1) <= SLACK))
    throw new Error(`${name}="${text}" is not a distribution: use numbers from 0 whose sum is 1`);
  return values.map((value) => value / sum);
}

/** Return the board of a target's p and a drafter's q over the same tokens. */
export function boardOfRows(p: readonly number[], q: readonly number[]): Board {
  if (p.length !== q.length)
    throw new Error(`p has ${p.length} numbers and q has ${q.length}: use as many`);
  const columns = p.map((own, id) => columnOf(id, own, q[id], q[id] > 0));
  const left = columns.reduce((sum, { residual }) => sum + residual, 0);
  return { rule: "ratio", fault: "resample", columns, left };
}

export class HsdDarts extends HsdElement {
  static observedAttributes = ["p", "q", "names", "label"];

  protected open(place: HTMLElement) {
    if (!this.hasAttribute("p") && !this.hasAttribute("q")) return undefined;
    const p = probabilitiesOf("p", this.getAttribute("p") ?? "");
    const q = probabilitiesOf("q", this.getAttribute("q") ?? "");
    const board = boardOfRows(p, q);
    const tokenNames = (this.getAttribute("names") ?? "").split(/\s+/).filter(Boolean);
    const names = p.map((_, k) => tokenNames[k] ?? `token ${k + 1}`);
    const root = make("section", "hsd-linked");
    paletteOf(PALETTE).paint(root);
    const host = make("div");
    root.append(host);
    place.append(root);
    const title = this.getAttribute("label") ?? "One position: the target’s p and the drafter’s q";
    const darts = createDarts(host);
    const paint = () =>
      darts.show({
        board,
        names,
        families: names.map(() => null),
        recorded: null,
        key: title,
        title,
      });
    paint();
    const cleanups = [followTheme(root, "--backdrop"), onResize(host, paint)];
    const accepted = 1 - (board.left ?? 0);
    this.report("hsd-load", { tokens: names.length, accepted });
    return () => {
      for (const clean of cleanups) clean();
    };
  }
}
