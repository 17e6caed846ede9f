// Where columns, parts of the loss and bars of drafters are, by hand.
import assert from "node:assert/strict";
import { test } from "vitest";
import { columnsOf } from "./columns";
import { partsOf, rowsBelow } from "./losses";
import { scaled } from "./scales";
import type { Drafter, Setting } from "./spec";

const setting = (tokens: number, value: number, more: Partial<Setting> = {}): Setting => ({
  tokens,
  value,
  low: null,
  high: null,
  present: false,
  best: false,
  assumed: false,
  ...more,
});

test("both rows have one axis", () => {
  const c = columnsOf([setting(1, 1.2), setting(2, 1.5)], [0.8, 0.5, 0.2], true, 900);
  assert.deepEqual(
    c.axis.map(({ tokens }) => tokens),
    [1, 2, 3],
  );
  for (const [k, column] of c.upper.entries()) assert.equal(column.x, c.lower[k].x);
  assert.ok(c.lower[2].x > c.upper[1].x);
});

test("heights are in proportion from 0, and plain decoding is at 1", () => {
  const c = columnsOf([setting(1, 1.2), setting(2, 2.4)], [], true, 900);
  assert.equal(c.upper[1].high, 2 * c.upper[0].high);
  assert.equal(c.feet.upper - (c.plainY ?? 0), c.upper[0].high / 1.2);
  assert.equal(columnsOf([setting(1, 2)], [], false, 900).plainY, null);
});

test("an interval has its ends at the scale of its column", () => {
  const c = columnsOf([setting(1, 1, { low: 0.5, high: 2 })], [], true, 900);
  const whisker = c.upper[0].whisker ?? { low: 0, high: 0 };
  assert.equal(c.feet.upper - whisker.high, 4 * (c.feet.upper - whisker.low));
});

test("positions beyond the best setting are not kept", () => {
  const c = columnsOf([setting(1, 1), setting(2, 3, { best: true })], [0.9, 0.8, 0.1], true, 900);
  assert.deepEqual(
    c.lower.map(({ kept }) => kept),
    [true, true, false],
  );
});

test("all columns are within a phone's width", () => {
  const c = columnsOf(
    [1, 2, 3, 4, 5, 6, 7].map((k) => setting(k, 1)),
    [1, 1],
    true,
    372,
  );
  const last = c.upper[6];
  assert.ok(last.x + last.wide <= 372);
});

test("a part too small for its words has them below, each in its row", () => {
  const losses = [
    { name: "overhead", share: 0.12, ms: null },
    { name: "rejected drafts", share: 0.55, ms: null },
    { name: "drafting", share: 0.29, ms: 21 },
    { name: "verification", share: 0.04, ms: 3 },
  ];
  const parts = partsOf(losses, 372);
  assert.deepEqual(
    parts.map(({ words, row }) => [words, row]),
    [
      ["rejected drafts 55 %", -1],
      ["drafting 29 %", -1],
      ["overhead 12 %", 0],
      ["verification 4 %, 3.0 ms", 1],
    ],
  );
  assert.equal(rowsBelow(parts), 2);
  const last = parts[3];
  assert.ok(Math.abs(last.x + last.wide - 372) < 1e-9);
  assert.equal(rowsBelow(partsOf(losses, 900)), 1);
  assert.equal(rowsBelow([]), 0);
});

test("drafters are sorted, and one that pays ends behind the line", () => {
  const measured = (value: number) => ({ value, low: null, high: null });
  const drafter = (
    name: string,
    tokens: number,
    speedup: number,
    pays: Drafter["pays"],
  ): Drafter => ({
    name,
    tokens: measured(tokens),
    speedup: measured(speedup),
    pays,
  });
  const { rows, even } = scaled([drafter("hd", 2, 0.9, "no"), drafter("db", 4, 3, "yes")]);
  assert.deepEqual(
    rows.map((row) => [row.drafter.name, row.pays, row.speedup.end > even]),
    [
      ["db", true, true],
      ["hd", false, false],
    ],
  );
  assert.equal(rows[1].tokens.end * 2, rows[0].tokens.end);
  assert.equal(rows[0].speedup.end, 3 * even);
});
