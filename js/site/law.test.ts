import { expect, test } from "vitest";
import type { Call } from "../lib/tables";
import { elsewhere } from "./law";

const call = (kind: Call["kind"], name: string, fed: number, steps = 1, duration_ns = 0): Call => ({
  round: 0,
  level: 0,
  cached: 0,
  start_ns: 0,
  kind,
  name,
  fed,
  steps,
  duration_ns,
});
const costs = { target: [10, 11, 12, 13], small: [2, 3], nano: [1] };

test("a run elsewhere takes the sum of its passes there, without prefill", () => {
  expect(
    elsewhere(
      [call("prefill", "target", 9), call("verify", "target", 1), call("verify", "target", 1)],
      costs,
    ),
  ).toBe(20);
  // Two tokens that were not cached and three more: a pass over two, then three passes over one.
  expect(elsewhere([call("draft", "nano", 5, 4), call("verify", "target", 4)], costs)).toBe(4 + 13);
  expect(elsewhere([call("draft", "small", 4, 3)], costs)).toBe(3 + 2 + 2);
  // Beyond the curve its last cost, databases as measured, a target below another target by its own
  // costs.
  expect(elsewhere([call("verify", "target", 9), call("lookup", "db", 0, 1, 5e5)], costs)).toBe(
    13.5,
  );
  expect(elsewhere([call("verify", "ladder-target", 2)], costs)).toBe(11);
});
