// Rows of the module's tables, as the columns of a trace. Pure.
import type { Column } from "./manifest";

/** What the numbers of a decode's rows stand for. */
export interface Names {
  /** The levels, and the sources of tokens. */
  levels: readonly string[];
  sources: readonly string[];
  /** Tokens of a list of the likeliest ones. */
  top: number;
}

/** Numbers of a column in a row: a list of the likeliest tokens has an id and p for each. */
const widthOf = ([, kind]: Column, { top }: Names): number => (kind === "top" ? 2 * top : 1);

/** The likeliest tokens that start at a cell; null: they were not recorded. */
function topAt(cells: readonly number[], at: number, top: number): [number, number][] | null {
  const pairs: [number, number][] = [];
  for (let k = at; k < at + 2 * top; k += 2)
    if (!Number.isNaN(cells[k + 1])) pairs.push([cells[k], cells[k + 1]]);
  return pairs.length ? pairs : null;
}

/** A number as a word: of a level, of a source, or one that the column brings. */
function wordOf(value: number, [name, , words]: Column, names: Names): string {
  if (name === "name") return names.levels[value];
  if (name === "source") return names.sources[value];
  return (words as string[])[value];
}

function valueAt(cells: readonly number[], at: number, column: Column, names: Names): unknown {
  const [, kind] = column;
  if (kind === "top") return topAt(cells, at, names.top);
  const value = cells[at];
  if (Number.isNaN(value)) return null;
  // A path is the sum of 2 to the power of its levels.
  if (kind === "ints") return [...names.levels.keys()].filter((level) => (value / 2 ** level) & 1);
  return kind === "str" ? wordOf(value, column, names) : value;
}

/** The values of each column of rows that are written one after the other. */
export function columnsOf(
  cells: readonly number[],
  columns: readonly Column[],
  names: Names,
): Record<string, unknown[]> {
  const width = columns.reduce((sum, column) => sum + widthOf(column, names), 0);
  const table: Record<string, unknown[]> = {};
  let start = 0;
  for (const column of columns) {
    const values: unknown[] = [];
    for (let row = start; row < cells.length; row += width)
      values.push(valueAt(cells, row, column, names));
    table[column[0]] = values;
    start += widthOf(column, names);
  }
  return table;
}
