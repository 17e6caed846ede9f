// Converts rows of the module's tables to the columns of a trace. Pure functions.
import type { Column } from "./manifest";

/** Names that the numbers in the rows of a decode refer to. */
export interface Names {
  /** Names of the levels, and of the sources of tokens. */
  levels: readonly string[];
  sources: readonly string[];
  /** Number of tokens in a list of the most likely ones. */
  top: number;
}

/** Return the number of cells of a column: a list of likely tokens has an id and a p for each. */
const widthOf = ([, kind]: Column, { top }: Names): number => (kind === "top" ? 2 * top : 1);

/** Read the most likely tokens from a cell on; null: not recorded. */
function topAt(cells: readonly number[], at: number, top: number): [number, number][] | null {
  const pairs: [number, number][] = [];
  for (let k = at; k < at + 2 * top; k += 2)
    if (!Number.isNaN(cells[k + 1])) pairs.push([cells[k], cells[k + 1]]);
  return pairs.length ? pairs : null;
}

/** Return the name for a number: a level, a source, or a code of the column. */
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
  // A path is a bit mask of levels.
  if (kind === "ints") return [...names.levels.keys()].filter((level) => (value / 2 ** level) & 1);
  return kind === "str" ? wordOf(value, column, names) : value;
}

/** Split the cells of consecutive rows into columns of values. */
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
