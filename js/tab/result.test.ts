// Why the text of a decode ended.
import { expect, test } from "vitest";
import { stopReason } from "./result";

test.each([
  ["an end token", [5, 9], { isShort: true, most: 8 }, "eos"],
  ["an end token at the limit", [5, 9], { isShort: false, most: 2 }, "eos"],
  ["a cancelled decode", [5, 6], { isShort: true, most: 8 }, "cancelled"],
  ["all tokens that were asked for", [5, 6], { isShort: false, most: 2 }, "length"],
  ["a full context", [5, 6], { isShort: false, most: 8 }, "context"],
  ["nothing emitted", [], { isShort: true, most: 8 }, "cancelled"],
])("%s", (_, ids, facts, reason) => {
  expect(stopReason(ids, { ends: [9], ...facts })).toBe(reason);
});
