// Texts of a dart board: its two parts, the distribution of its darts, and its values as a table.
import { html, nothing } from "lit-html";
import { say } from "../lib/say";
import { folded, tableOf } from "../lib/table";
import { figure } from "../lib/words";
import { type Board, type Column, focusOf } from "./board";
import { type BoardPicture, isOff, noiseOf, PILE, pileOf, pOf, type ThrownDart } from "./picture";
import type { DartStrings } from "./strings";

/** Describe the parts of a board, or its one verdict if sums were not recorded. */
export function boardText(
  { board, recorded, names }: BoardPicture,
  darts: readonly ThrownDart[],
  strings: DartStrings,
) {
  if (board.left === null) {
    const [column] = board.columns;
    return say(strings.one_verdict, {
      q: figure(column.accepted + column.surplus),
      p: figure(pOf(column)),
      fate: recorded?.first?.hit ? strings.accepted : strings.rejected,
    });
  }
  const accepted = 1 - board.left;
  const parts = { accepted: figure(accepted), residual: figure(1 - accepted) };
  return html`<strong>${say(strings.parts, parts)}</strong>${strings.parts_are}${
    darts.length ? lastText(names, darts, strings) : nothing
  }`;
}

/** Describe the token of the last dart, and whether it replaced a rejected one. */
function lastText(
  names: readonly string[],
  darts: readonly ThrownDart[],
  strings: DartStrings,
): string {
  const name = names[darts[darts.length - 1].column];
  const isSecond = darts.at(-2)?.counts === false;
  return say(isSecond ? strings.last_second : strings.last_dart, { name });
}

/**
 * What the darts have made of the column that the broken rule changes most, and whether all shares
 * are within chance; nothing before there are enough darts.
 */
export function outcomeText(
  { board, names }: BoardPicture,
  darts: readonly ThrownDart[],
  isBroken: boolean,
  strings: DartStrings,
) {
  const counted = darts.filter((dart) => dart.counts).length;
  if (counted < PILE.from) return nothing;
  const pile = pileOf(board, darts);
  const focus = focusOf(board);
  const p = pOf(board.columns[focus]);
  const tally = say(strings.tally, {
    darts: counted,
    name: names[focus],
    count: Math.round(counted * pile[focus]),
    law: Math.round(counted * p),
    noise: Math.round(counted * noiseOf(p, counted)),
  });
  const isOutside = board.columns.some((column, k) => isOff(pile[k], pOf(column), counted));
  const kind = isOutside ? "hsd-dt-outside" : "hsd-dt-within";
  return html`<p class="hsd-dt-words">
    <strong class=${kind}>${verdictOf(isOutside, isBroken, strings)}</strong> ${tally}
  </p>`;
}

/** Whether the shares are those of p; a broken rule may change them too little to be seen. */
function verdictOf(isOutside: boolean, isBroken: boolean, strings: DartStrings): string {
  if (isOutside) return isBroken ? strings.outside : strings.rare;
  return isBroken ? strings.hardly : strings.within;
}

/** A probability of the table. */
function cell(x: number): string {
  if (x === 0 || x === 1) return String(x);
  if (x < 1e-5) return "< 0.00001";
  return x < 9.5e-4 ? x.toPrecision(2) : x.toFixed(4);
}
/** The drafter's cell of a column: q, or whether the token was drafted. */
function draftCell(
  { accepted, surplus, drafted }: Column,
  { rule }: Board,
  strings: DartStrings,
): string {
  if (rule === "ratio") return cell(accepted + surplus);
  return drafted ? strings.yes : strings.no;
}

/** The values of a board as a table. */
export function valuesTable({ board, names }: BoardPicture, strings: DartStrings) {
  const { columns, left, rule } = board;
  const isRatio = rule === "ratio";
  const rows = columns.map((column, k) => [
    column.drafted ? html`<code><s>${names[k]}</s></code>` : html`<code>${names[k]}</code>`,
    cell(pOf(column)),
    draftCell(column, board, strings),
    cell(column.accepted),
    cell(column.residual),
    left ? cell(column.residual / left) : "–",
  ]);
  const accepted = columns.reduce((sum, column) => sum + column.accepted, 0);
  const sums =
    left === null ? [] : [strings.sum, "1", isRatio ? "1" : "", cell(accepted), cell(left), "1"];
  const heads = [
    strings.token,
    "p",
    isRatio ? "q" : strings.drafted,
    strings.accepted,
    strings.residual,
    strings.scaled,
  ];
  return folded(strings.table, tableOf(strings.table_label, heads, rows, sums));
}
