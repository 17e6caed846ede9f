// Texts of a dart board: its two parts, the distribution of its darts, and its values as a table.
import { html, nothing, svg } from "lit-html";
import { say } from "../lib/say";
import { folded, tableOf } from "../lib/table";
import { figure } from "../lib/words";
import { type Board, type Column, type Dart, focusOf, pOf } from "./board";
import { isOff, noiseOf } from "./chance";
import { pileOf, type ThrownDart, valueText } from "./picture";
import type { BoardPicture } from "./scale";
import type { DartStrings } from "./strings";

/** A count with a blank before its thousands. */
const counted = (count: number): string => String(count).replace(/\B(?=\d{3}$)/, "\u00a0");

/** Describe the parts of a board, or its one verdict if sums were not recorded. */
export function boardText({ board, recorded }: BoardPicture, strings: DartStrings) {
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
  return html`<strong>${say(strings.parts, parts)}</strong>${strings.parts_are}`;
}

/** Count the proposals of a sample that are kept, and those that are not. */
export function sampleText(sample: readonly Dart[], strings: DartStrings) {
  const kept = sample.filter(({ fate }) => fate === "kept").length;
  const others = sample.length - kept;
  return svg`<tspan class="hsd-dt-solid">●</tspan> ${say(strings.sample_kept, { kept })}
    <tspan dx="12">○</tspan> ${say(strings.sample_redrawn, { others })}`;
}

/** Describe what the rule did with the proposal of a dart. */
export function lastText(
  { board, names, isWhole }: BoardPicture,
  { first, fate, column }: Dart,
  strings: DartStrings,
): string {
  const name = names[column];
  if (board.rule === "walk" || fate === "wrong") return say(strings.last_dart, { name });
  return say(fate === "kept" ? strings.last_kept : strings.last_redrawn, {
    proposed: names[first.column],
    name,
    height: valueText(first.y, isWhole),
    p: valueText(pOf(board.columns[first.column]), isWhole),
  });
}

/**
 * What the darts have made of the column that the broken rule changes most, and whether all shares
 * are within chance. The right rule's darts begin with the `answer` to a question.
 */
export function outcomeText(
  { board, names }: BoardPicture,
  darts: readonly ThrownDart[],
  isBroken: boolean,
  strings: DartStrings,
  answer?: string,
) {
  const count = darts.length;
  const pile = pileOf(board, darts);
  const focus = focusOf(board);
  const p = pOf(board.columns[focus]);
  const tally = say(strings.tally, {
    name: names[focus],
    before: valueText(p, true),
    after: valueText(pile[focus], true),
  });
  const noise = valueText(noiseOf(p, count), true);
  const isOutside = board.columns.some((column, k) => isOff(pile[k], pOf(column), count));
  const kind = isOutside ? "hsd-dt-outside" : "hsd-dt-within";
  const hasAnswer = answer && !isBroken && !isOutside;
  return html`<p class="hsd-dt-tally">${hasAnswer ? html`${answer} ` : nothing}${tally}</p>
    <p class="hsd-dt-words">
      <strong class=${kind}>${verdictOf(isOutside, isBroken, strings)}</strong>
      ${say(strings.count, { darts: counted(count), noise })}
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
