// What a dart board says: its two parts, what the darts have made of it, and its values as a table.
import { html, nothing } from "lit-html";
import { folded, tableOf } from "../lib/table";
import { figure } from "../lib/words";
import { type Board, type Column, lawOf } from "./board";
import { type Drawn, PILE, pileOf, pOf, type Thrown } from "./picture";

/** What the board says, with its numbers; of a board without its sums, about the one verdict. */
export function boardWords({ board, recorded, names }: Drawn, darts: readonly Thrown[]) {
  if (board.left === null) {
    const [column] = board.columns;
    const q = figure(column.accepted + column.surplus);
    const fate = recorded?.first?.hit ? "accepted" : "rejected";
    return `A dart under q = ${q} counts below p = ${figure(pOf(column))}: ${fate}.`;
  }
  const accepted = 1 - board.left;
  const last = darts.at(-1);
  const isSecond = darts.at(-2)?.counts === false;
  const thrown = last
    ? html` Last dart: ${isSecond ? "rejected, then " : ""}“${names[last.column]}”.`
    : nothing;
  return html`<strong>accepted ${figure(accepted)} + residual ${figure(1 - accepted)} = 1</strong>:
    together they are p, the target’s own probabilities.${thrown}`;
}

/** How far the pile is from p; nothing before there are enough darts. */
export function outcomeWords({ board, names }: Drawn, darts: readonly Thrown[], lossy: boolean) {
  const counted = darts.filter((dart) => dart.counts).length;
  if (counted < PILE.from) return nothing;
  const pile = pileOf(board, darts);
  const off = board.columns.map((column, k) => Math.abs(pile[k] - pOf(column)));
  const worst = off.indexOf(Math.max(...off));
  const law = figure(lawOf(board, lossy)[worst]);
  const instead = `${law} in place of ${figure(pOf(board.columns[worst]))}`;
  const wrong = `With the correction from p this pile stays wrong: in the long run ${instead}.`;
  const isNear = off[worst] <= PILE.near;
  const shrinks = isNear
    ? "It shrinks with more darts, towards 0: the pile becomes p."
    : "It shrinks with more darts: throw 1 000.";
  return html`<p class="hsd-dt-words">
    ${counted} tokens: largest difference from p ${figure(off[worst])}, at “${names[worst]}”.
    ${lossy ? wrong : shrinks}
  </p>`;
}

/** A probability of the table. */
function cell(x: number): string {
  if (x === 0 || x === 1) return String(x);
  if (x < 1e-5) return "< 0.00001";
  return x < 9.5e-4 ? x.toPrecision(2) : x.toFixed(4);
}
/** What the drafter has of a column: q, or whether it drafted its token. */
function draftCell({ accepted, surplus, drafted }: Column, { rule }: Board): string {
  if (rule === "ratio") return cell(accepted + surplus);
  return drafted ? "yes" : "no";
}

/** The values of a board as a table. */
export function valuesTable({ board, names }: Drawn) {
  const { columns, left, rule } = board;
  const isRatio = rule === "ratio";
  const rows = columns.map((column, k) => [
    column.drafted ? html`<code><s>${names[k]}</s></code>` : html`<code>${names[k]}</code>`,
    cell(pOf(column)),
    draftCell(column, board),
    cell(column.accepted),
    cell(column.residual),
    left ? cell(column.residual / left) : "–",
  ]);
  const accepted = columns.reduce((sum, column) => sum + column.accepted, 0);
  const sums =
    left === null ? [] : ["sum", "1", isRatio ? "1" : "", cell(accepted), cell(left), "1"];
  const heads = ["token", "p", isRatio ? "q" : "drafted", "accepted", "residual", "scaled to 1"];
  return folded("Values as a table", tableOf("Values of the dart board", heads, rows, sums));
}
