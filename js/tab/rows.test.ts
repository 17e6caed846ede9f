// Cells of the module's tables as the columns of a trace, by hand.
import { expect, test } from "vitest";
import type { Column } from "./manifest";
import { columnsOf } from "./rows";

const NAMES = { levels: ["db", "nano", "target"], sources: ["db", "nano", "target"], top: 2 };
const columnOf = (column: Column, cells: number[]) =>
  Object.values(columnsOf(cells, [column], NAMES))[0];

test("rows follow one another, each with a cell for every column", () => {
  const columns: Column[] = [
    ["round", "int", null],
    ["p", "float", null],
  ];
  expect(columnsOf([0, 0.5, 1, Number.NaN], columns, NAMES)).toEqual({
    round: [0, 1],
    p: [0.5, null],
  });
  expect(columnsOf([], columns, NAMES)).toEqual({ round: [], p: [] });
});

test("a list of likely tokens takes two cells for each of them", () => {
  const columns: Column[] = [
    ["top", "top", null],
    ["depth", "int", null],
  ];
  const cells = [7, 0.5, 8, 0.25, 3, 9, 1, Number.NaN, Number.NaN, 4];
  const none = Array(4).fill(Number.NaN);
  expect(columnsOf([...cells, ...none, 5], columns, NAMES)).toEqual({
    top: [
      [
        [7, 0.5],
        [8, 0.25],
      ],
      [[9, 1]],
      null,
    ],
    depth: [3, 4, 5],
  });
});

test("a number is a level, a source, a word of its column, or a path of levels", () => {
  expect(columnOf(["name", "str", null], [2, 0])).toEqual(["target", "db"]);
  expect(columnOf(["source", "str", null], [1, Number.NaN])).toEqual(["nano", null]);
  expect(columnOf(["kind", "str", ["accepted", "bonus"]], [1])).toEqual(["bonus"]);
  expect(columnOf(["path", "ints", null], [5, 2, 0])).toEqual([[0, 2], [1], []]);
});
