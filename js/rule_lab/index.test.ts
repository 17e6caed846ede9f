// What the rule lab says of a verdict.
import { expect, test } from "vitest";
import { fatesOf, stepText } from "./index";

test.each([
  ["token", ["accepted", "rejected", "unreached"]],
  ["typical", ["accepted", "rejected", "unreached"]],
  ["block", ["accepted", "rejected", "rejected"]],
  ["branch", ["accepted", "rejected", "rejected"]],
] as const)("one of three tokens accepted by %s", (rule, fates) => {
  expect(fatesOf(rule, 1, 3)).toEqual(fates);
});

const STEP = { place: 1, left: 0.25, right: 0.5, accepted: true };
test.each([
  ["token", STEP, "Place 2: u·q = 0.250 < p = 0.500"],
  ["block", { ...STEP, accepted: false }, "Place 2: u = 0.250 ≥ h = 0.500"],
  ["typical", STEP, "Place 2: p = 0.500 ≥ threshold 0.250"],
] as const)("a comparison by %s", (rule, step, words) => {
  expect(stepText(rule, step)).toBe(words);
});
